#include "safelaunch/output/job_output.h"

#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <random>
#include <thread>

#include "catch.h"
#include "plumbing.h"
#include "safelaunch/output/terminal_writer.h"

using namespace safelaunch;
using namespace safelaunch::testing;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

/// One attempt's output on its way from the test, which plays the ranks, to the test, which reads
/// the terminal.
struct Attempt {
  explicit Attempt(OutputPlan plan, Plumbing to_out = make_pipe(), Plumbing to_err = {})
      : out(std::move(to_out)),
        err(std::move(to_err)),
        terminal(io, inspect_streams(out.writer.get(),
                                     err.writer ? err.writer.get() : out.writer.get())),
        output(io, terminal, in(directory, std::move(plan)), observer()) {}

  static OutputPlan in(const TemporaryDirectory& directory, OutputPlan plan) {
    plan.directory = directory.path() / "attempt-1-basic";
    return plan;
  }

  OutputObserver observer() {
    return {[this](StreamId id, std::string_view bytes) { seen.emplace_back(id, bytes); },
            [this](const RecordingLoss& loss) { losses.push_back(loss); },
            [this] { drained = true; }};
  }

  ChildStreams rank(int number) { return output.open_rank(Rank{number}).value(); }

  void run_once() {
    shown += out.read();
    if (io.stopped()) io.restart();
    if (io.run_one_for(20s) == 0) throw std::runtime_error("nothing happens; so far: " + shown);
    shown += out.read();
  }

  std::string& shown_until(std::string_view end) {
    while (shown.find(end) == shown.npos) run_once();
    return shown;
  }

  /// The job is over (its ends are closed): everything that was to be seen.
  std::string& shown_in_all() {
    while (!drained) run_once();
    shown += out.read();
    return shown;
  }

  std::string file(const char* name) const {
    return contents(directory.path() / "attempt-1-basic" / name);
  }

  TemporaryDirectory directory;
  boost::asio::io_context io;
  Plumbing out, err;
  std::vector<std::pair<StreamId, std::string>> seen;
  std::vector<RecordingLoss> losses;
  bool drained = false;
  std::string shown;
  TerminalWriter terminal;
  JobOutput output;
};

OutputPlan plan_of(OutputPlan::Mode mode, OutputPlan::Prefix prefix = OutputPlan::Prefix::none) {
  OutputPlan plan;
  plan.mode = mode;
  plan.prefix = prefix;
  return plan;
}

const OutputPlan kBytes = plan_of(OutputPlan::Mode::bytes);
const OutputPlan kLines = plan_of(OutputPlan::Mode::lines);
const OutputPlan kPrefixed = plan_of(OutputPlan::Mode::lines, OutputPlan::Prefix::rank);

int terminal_columns_of(int fd) {
  winsize size{};
  ::ioctl(fd, TIOCGWINSZ, &size);
  return size.ws_col;
}

std::string every_byte() {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  return bytes;
}

}  // namespace

TEST_CASE("a launcher's bytes pass unchanged, before any newline, and are recorded",
          "[job_output]") {
  Attempt attempt(kBytes);
  const ChildStreams launcher = attempt.output.open_launcher().value();
  write_all(launcher.out.get(), every_byte() + "50%");
  CHECK(attempt.shown_until("50%") == every_byte() + "50%");
  CHECK(attempt.file("launcher.out") == every_byte() + "50%");
}

TEST_CASE("a launcher's stdout and stderr keep their order where ours are joined", "[job_output]") {
  Attempt attempt(kBytes);
  {
    const ChildStreams launcher = attempt.output.open_launcher().value();
    for (const char* turn : {"1", "2", "3"}) {
      write_all(launcher.out.get(), "out"s + turn + " ");
      write_all(launcher.err.get(), "err"s + turn + " ");
    }
  }
  CHECK(attempt.shown_in_all() == "out1 err1 out2 err2 out3 err3 ");
  CHECK(attempt.file("launcher.out") == attempt.shown);
  CHECK_FALSE(std::filesystem::exists(attempt.directory.path() / "attempt-1-basic/launcher.err"));
}

TEST_CASE("a launcher's stdout and stderr stay apart where ours are apart", "[job_output]") {
  Attempt attempt(kBytes, make_pipe(), make_pipe());
  {
    const ChildStreams launcher = attempt.output.open_launcher().value();
    write_all(launcher.out.get(), "to out");
    write_all(launcher.err.get(), "to err");
  }
  CHECK(attempt.shown_in_all() == "to out");
  CHECK(attempt.err.read() == "to err");
  CHECK(attempt.file("launcher.out") == "to out");
  CHECK(attempt.file("launcher.err") == "to err");
}

TEST_CASE("ranks' lines reach the terminal whole and marked, and their files byte for byte",
          "[job_output]") {
  Attempt attempt(kPrefixed);
  {
    const ChildStreams zero = attempt.rank(0);
    const ChildStreams one = attempt.rank(1);
    write_all(zero.out.get(), "lo");
    write_all(one.err.get(), "warning\n");
    attempt.shown_until("warning\n");
    write_all(zero.out.get(), "ss 1\nend");
  }
  CHECK(attempt.shown_in_all() == "[rank 1] warning\n[rank 0] loss 1\n[rank 0] end\n");
  CHECK(attempt.file("rank-0.out") == "loss 1\nend");
  CHECK(attempt.file("rank-1.err") == "warning\n");
  CHECK(attempt.file("rank-1.out").empty());
}

TEST_CASE("a rank that was not chosen is recorded but not shown", "[job_output]") {
  OutputPlan plan = kLines;
  plan.shown = RankSelection::parse("1").value();
  Attempt attempt(plan);
  {
    const ChildStreams zero = attempt.rank(0);
    const ChildStreams one = attempt.rank(1);
    write_all(zero.out.get(), "zero\n");
    write_all(one.out.get(), "one\n");
  }
  CHECK(attempt.shown_in_all() == "one\n");
  CHECK(attempt.file("rank-0.out") == "zero\n");
}

TEST_CASE("every chunk is told of, and the tail of a stream is kept", "[job_output]") {
  Attempt attempt(kBytes, make_pipe(), make_pipe());
  {
    const ChildStreams three = attempt.rank(3);
    write_all(three.err.get(), "ValueError");
  }
  attempt.shown_in_all();
  const StreamId err{Rank{3}, StdStream::err};
  REQUIRE(attempt.seen.size() == 1);
  CHECK(attempt.seen[0].first == err);
  CHECK(attempt.seen[0].second == "ValueError");
  CHECK(attempt.output.tail(err) == "ValueError");
  CHECK(attempt.output.tail({Rank{4}, StdStream::err}).empty());
}

TEST_CASE("a prompt without a newline is shown after a moment", "[job_output]") {
  Attempt attempt(kPrefixed);
  const ChildStreams zero = attempt.rank(0);
  write_all(zero.out.get(), "Name? ");
  CHECK(attempt.shown_until("? ") == "[rank 0] Name? ");
}

TEST_CASE("where ours is a terminal the job has one, and its progress bar is live",
          "[job_output]") {
  Attempt attempt(kPrefixed, make_terminal());
  const ChildStreams zero = attempt.rank(0);
  const ChildStreams one = attempt.rank(1);
  CHECK(::isatty(zero.out.get()) == 1);
  CHECK(::isatty(zero.err.get()) == 1);
  CHECK(terminal_columns_of(zero.err.get()) == 40 - 10);
  write_all(zero.err.get(), "\r 10%|█   |");
  CHECK(attempt.shown_until("|█   |") == "[rank 0]  10%|█   |");
  write_all(one.out.get(), "hello\n");
  CHECK(attempt.shown_until("hello\r\n[rank 0]") ==
        "[rank 0]  10%|█   |\r\x1b[K[rank 1] hello\r\n[rank 0]  10%|█   |");
}

TEST_CASE("the job's terminals follow ours in size", "[job_output]") {
  Attempt attempt(kBytes, make_terminal());
  const ChildStreams launcher = attempt.output.open_launcher().value();
  const winsize wider{50, 132, 0, 0};
  ::ioctl(attempt.out.writer.get(), TIOCSWINSZ, &wider);
  attempt.output.window_changed();
  CHECK(terminal_columns_of(launcher.out.get()) == 132);
}

TEST_CASE("a log that cannot grow any more is announced once, and the output goes on",
          "[job_output]") {
  ignore_output_signals();
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  Attempt attempt(kBytes);
  {
    const ChildStreams launcher = attempt.output.open_launcher().value();
    for (int i = 0; i < 3; ++i) {
      write_all(launcher.out.get(), std::string(999, 'x') + std::to_string(i));
      attempt.shown_until(std::to_string(i));
    }
  }
  CHECK(attempt.shown_in_all().size() == 3000);
  ::setrlimit(RLIMIT_FSIZE, &before);
  CHECK(attempt.file("launcher.out").size() == 1000);
  REQUIRE(attempt.losses.size() == 1);
  CHECK(attempt.losses[0].reason == "File too large");
  CHECK(attempt.output.losses().at(0).bytes == 2000);
}

TEST_CASE("a log directory that cannot be made stops no job", "[job_output]") {
  boost::asio::io_context io;
  const Plumbing out = make_pipe();
  TerminalWriter terminal(io, inspect_streams(out.writer.get(), out.writer.get()));
  OutputPlan plan = kBytes;
  plan.directory = "/dev/null/attempt-1";
  int lost = 0;
  JobOutput output(io, terminal, plan, {{}, [&](const RecordingLoss&) { ++lost; }, {}});
  { write_all(output.open_launcher().value().out.get(), "hello"); }
  while (!output.drained()) REQUIRE(io.run_one_for(20s) > 0);
  CHECK(out.read() == "hello");
  CHECK(lost == 1);
}

TEST_CASE("a closed terminal ends nothing: the job is recorded to its end", "[job_output]") {
  ignore_output_signals();
  Attempt attempt(kBytes);
  const ChildStreams launcher = attempt.output.open_launcher().value();
  attempt.out.reader.reset();
  for (int i = 0; i < 100; ++i) {
    write_all(launcher.out.get(), std::string(10'000, 'x'));
    while (attempt.seen.size() <= static_cast<std::size_t>(i)) attempt.io.run_one_for(20s);
  }
  CHECK(attempt.file("launcher.out").size() == 1'000'000);
  CHECK(attempt.terminal.lost() == 1'000'000);
}

TEST_CASE("a reader that sleeps makes the job wait, as without us, and loses nothing",
          "[job_output]") {
  Attempt attempt(kBytes);
  const std::string block(64 * 1024, 'x');
  std::size_t written = 0;
  {
    const ChildStreams launcher = attempt.output.open_launcher().value();
    for (std::size_t taken = 1; taken > 0;) {
      taken = write_what_fits(launcher.out.get(), block);
      written += taken;
      attempt.io.poll();
      attempt.io.restart();
    }
  }
  CHECK(written < 2 * 1024 * 1024);
  CHECK(attempt.shown_in_all().size() == written);
}

TEST_CASE("a rank that is not shown does not wait for a sleeping reader", "[job_output]") {
  OutputPlan plan = kLines;
  plan.shown = RankSelection::parse("0").value();
  Attempt attempt(plan);
  const ChildStreams zero = attempt.rank(0);
  const ChildStreams one = attempt.rank(1);
  const std::string lines = std::string(1023, 'x') + "\n";
  while (write_what_fits(zero.out.get(), lines) > 0) attempt.io.poll(), attempt.io.restart();
  for (int i = 0; i < 2000; ++i) {
    write_all(one.out.get(), lines);
    attempt.io.run_one_for(1ms);
    attempt.io.restart();
  }
  while (attempt.file("rank-1.out").size() < 2000 * lines.size()) attempt.io.run_one_for(20s);
}

TEST_CASE("what is left in the pipes is read when the job is over, though a stranger holds an end",
          "[job_output]") {
  Attempt attempt(kPrefixed);
  const ChildStreams zero = attempt.rank(0);
  write_all(zero.out.get(), "last words");
  CHECK_FALSE(attempt.output.drained());
  attempt.output.finish();
  CHECK(attempt.shown_in_all() == "[rank 0] last words\n");
  CHECK(attempt.output.drained());
}

TEST_CASE("an attempt's output may end at any moment", "[job_output]") {
  ignore_output_signals();
  boost::asio::io_context io;
  const Plumbing out = make_pipe();
  TerminalWriter terminal(io, inspect_streams(out.writer.get(), out.writer.get()));
  std::optional<JobOutput> output;
  for (int steps = 0; steps < 6; ++steps) {
    output.emplace(io, terminal, kPrefixed, OutputObserver{});
    const ChildStreams zero = output->open_rank(Rank{0}).value();
    write_all(zero.out.get(), "line\nhalf");
    for (int i = 0; i < steps; ++i) io.poll_one();
    output.reset();
    io.poll();
    io.restart();
  }
  CHECK(out.read().find("[rank 0] line\n") != std::string::npos);
}

TEST_CASE("a hostile line of 64 MB needs no memory to speak of", "[job_output]") {
  constexpr std::size_t kSize = 64 * 1024 * 1024;
  const TemporaryDirectory directory;
  boost::asio::io_context io;
  Plumbing out = make_pipe();
  ::fcntl(out.reader.get(), F_SETFL, 0);
  TerminalWriter terminal(io, inspect_streams(out.writer.get(), out.writer.get()));
  JobOutput output(io, terminal, Attempt::in(directory, kPrefixed), {});
  ChildStreams zero = output.open_rank(Rank{0}).value();
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

/// What a rank of the property test writes: numbered lines of many shapes, in pieces of many sizes.
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
