// The lines that come through when much is written, and their cost.
#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <random>
#include <thread>

#include "attempt.h"
#include "catch.h"
#include "plumbing.h"
#include "safelaunch/output/job_output.h"
#include "safelaunch/output/terminal_writer.h"

using namespace safelaunch;

using namespace safelaunch::output;
using namespace safelaunch::testing;
using namespace std::chrono_literals;
using namespace std::string_literals;

TEST_CASE("a hostile line of 64 MB needs no memory to speak of", "[job_output]") {
  constexpr std::size_t kSize = 64 * 1024 * 1024;
  const TemporaryDirectory directory;
  boost::asio::io_context io;
  Plumbing out = make_pipe();
  ::fcntl(out.reader.get(), F_SETFL, 0);
  output::TerminalWriter terminal(io, output::inspect_streams(out.writer.get(), out.writer.get()));
  Losses nobody;
  output::JobOutput output(io, terminal, Attempt::in(directory, kPrefixed), nobody);
  output::ChildStreams zero = output.open_rank(Rank{0}).value();
  rusage before{}, after{};
  ::getrusage(RUSAGE_SELF, &before);

  std::thread writer([&] {
    const std::string block = std::string(32'767, '\0') + "\xff";
    for (std::size_t i = 0; i < kSize / block.size(); ++i) write_all(zero.out.get(), block);
    zero = {};
  });
  std::size_t shown = 0;
  std::thread reader([&] {
    static char chunk[64 * 1024];
    while (shown < kSize + "[rank 0] \n"s.size()) {
      const ssize_t got = ::read(out.reader.get(), chunk, sizeof chunk);
      if (got <= 0) break;
      shown += static_cast<std::size_t>(got);
    }
  });
  while (!output.drained() && io.run_one_for(20s) > 0) continue;
  out.writer.reset();
  writer.join();
  ::getrusage(RUSAGE_SELF, &after);

  CHECK(output.drained());
  CHECK(after.ru_maxrss - before.ru_maxrss < 12 * 1024);
  reader.join();
  CHECK(shown == kSize + "[rank 0] \n"s.size());
}

namespace {

/// The output of a rank in the property test: numbered lines of many shapes, in pieces of many
/// sizes.
void write_numbered_lines(int fd, int rank, int count) {
  std::mt19937 random(static_cast<unsigned>(rank));
  for (int seq = 0; seq < count; ++seq) {
    const auto dice = random() % 1000;
    const std::size_t size = dice == 0 ? 1'000'000 : dice < 20 ? 9'000 : dice < 50 ? 0 : 100;
    const std::string line =
        std::to_string(rank) + " " + std::to_string(seq) + " " + std::string(size, 'x') + "\n";
    std::string_view left = line;
    const std::size_t piece = dice % 3 == 0 ? line.size() / 2 + 1 : line.size();
    const std::size_t step = dice >= 50 && dice < 60 ? 1 : piece;
    for (; !left.empty(); left.remove_prefix(std::min(step, left.size())))
      write_all(fd, left.substr(0, step));
  }
}

/// Reads `got` line by line and checks that each rank's lines are all there, whole and in order.
void check_numbered_lines(std::string_view got, int ranks, int count) {
  std::vector<int> next(static_cast<std::size_t>(ranks));
  while (!got.empty()) {
    const std::size_t end = got.find('\n');
    REQUIRE(end != got.npos);
    const std::string line(got.substr(0, end));
    got.remove_prefix(end + 1);
    int rank = -1, seq = -1, text = 0;
    REQUIRE(std::sscanf(line.c_str(), "%d %d %n", &rank, &seq, &text) == 2);
    REQUIRE((rank >= 0 && rank < ranks));
    REQUIRE(seq == next[static_cast<std::size_t>(rank)]++);
    REQUIRE(line.find_first_not_of('x', static_cast<std::size_t>(text)) == line.npos);
  }
  for (const int seen : next) REQUIRE(seen == count);
}

}  // namespace

TEST_CASE("of eight real writers' lines none is lost, mixed, doubled or reordered",
          "[job_output]") {
  constexpr int kRanks = 8, kCount = 2000;
  Attempt attempt(kLines);
  std::vector<std::thread> writers;
  for (int rank = 0; rank < kRanks; ++rank) {
    writers.emplace_back([rank, streams = attempt.rank(rank)] {
      write_numbered_lines(streams.out.get(), rank, kCount);
    });
  }
  attempt.shown_in_all();
  for (std::thread& writer : writers) writer.join();
  check_numbered_lines(attempt.shown, kRanks, kCount);
}
