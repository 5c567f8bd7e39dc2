#include "safelaunch/output/job_output.h"

#include <sys/resource.h>

#include <boost/asio/io_context.hpp>
#include <optional>

#include "attempt.h"
#include "catch.h"
#include "plumbing.h"
#include "safelaunch/output/terminal_writer.h"

using namespace safelaunch;

using namespace safelaunch::output;
using namespace safelaunch::testing;
using namespace std::chrono_literals;
using namespace std::string_literals;

namespace {

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
  const output::ChildStreams launcher = attempt.output.open_launcher().value();
  write_all(launcher.out.get(), every_byte() + "50%");
  CHECK(attempt.shown_until("50%") == every_byte() + "50%");
  CHECK(attempt.file("launcher.out") == every_byte() + "50%");
}

TEST_CASE("a launcher's stdout and stderr keep their order where ours are joined", "[job_output]") {
  Attempt attempt(kBytes);
  {
    const output::ChildStreams launcher = attempt.output.open_launcher().value();
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
    const output::ChildStreams launcher = attempt.output.open_launcher().value();
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
    const output::ChildStreams zero = attempt.rank(0);
    const output::ChildStreams one = attempt.rank(1);
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
  output::OutputPlan plan = kLines;
  plan.shown = output::RankSelection::parse("1").value();
  Attempt attempt(plan);
  {
    const output::ChildStreams zero = attempt.rank(0);
    const output::ChildStreams one = attempt.rank(1);
    write_all(zero.out.get(), "zero\n");
    write_all(one.out.get(), "one\n");
  }
  CHECK(attempt.shown_in_all() == "one\n");
  CHECK(attempt.file("rank-0.out") == "zero\n");
}

TEST_CASE("every chunk is told of, and the tail of a stream is kept", "[job_output]") {
  Attempt attempt(kBytes, make_pipe(), make_pipe());
  {
    const output::ChildStreams three = attempt.rank(3);
    write_all(three.err.get(), "ValueError");
  }
  attempt.shown_in_all();
  const output::StreamId err{Rank{3}, output::StdStream::err};
  REQUIRE(attempt.seen.size() == 1);
  CHECK(attempt.seen[0].first == err);
  CHECK(attempt.seen[0].second == "ValueError");
  CHECK(attempt.output.tail(err) == "ValueError");
  CHECK(attempt.output.tail({Rank{4}, output::StdStream::err}).empty());
}

TEST_CASE("a prompt without a newline is shown after a moment", "[job_output]") {
  Attempt attempt(kPrefixed);
  const output::ChildStreams zero = attempt.rank(0);
  write_all(zero.out.get(), "Name? ");
  CHECK(attempt.shown_until("? ") == "[rank 0] Name? ");
}

TEST_CASE("where ours is a terminal the job has one, and its progress bar is live",
          "[job_output]") {
  Attempt attempt(kPrefixed, make_terminal());
  const output::ChildStreams zero = attempt.rank(0);
  const output::ChildStreams one = attempt.rank(1);
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
  const output::ChildStreams launcher = attempt.output.open_launcher().value();
  const winsize wider{50, 132, 0, 0};
  ::ioctl(attempt.out.writer.get(), TIOCSWINSZ, &wider);
  attempt.output.window_changed();
  CHECK(terminal_columns_of(launcher.out.get()) == 132);
}

TEST_CASE("a log that cannot grow any more is announced once, and the output goes on",
          "[job_output]") {
  output::ignore_output_signals();
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  Attempt attempt(kBytes);
  {
    const output::ChildStreams launcher = attempt.output.open_launcher().value();
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
  CHECK_FALSE(attempt.output.recordings().at(0).untold_loss());  // it was told already
}

TEST_CASE("a log directory that cannot be made stops no job", "[job_output]") {
  boost::asio::io_context io;
  const Plumbing out = make_pipe();
  output::TerminalWriter terminal(io, output::inspect_streams(out.writer.get(), out.writer.get()));
  output::OutputPlan plan = kBytes;
  plan.directory = "/dev/null/attempt-1";
  Losses told;
  output::JobOutput output(io, terminal, plan, told);
  { write_all(output.open_launcher().value().out.get(), "hello"); }
  while (!output.drained()) REQUIRE(io.run_one_for(20s) > 0);
  CHECK(out.read() == "hello");
  CHECK(told.losses.size() == 1);
}

TEST_CASE("a closed terminal ends nothing: the job is recorded to its end", "[job_output]") {
  output::ignore_output_signals();
  Attempt attempt(kBytes);
  const output::ChildStreams launcher = attempt.output.open_launcher().value();
  attempt.out.reader.reset();
  for (int i = 0; i < 100; ++i) {
    write_all(launcher.out.get(), std::string(10'000, 'x'));
    while (attempt.seen.size() <= static_cast<std::size_t>(i)) attempt.io.run_one_for(20s);
  }
  CHECK(attempt.file("launcher.out").size() == 1'000'000);
  CHECK(attempt.terminal.lost().bytes == 1'000'000);
}

TEST_CASE("a reader that sleeps makes the job wait, as without us, and loses nothing",
          "[job_output]") {
  Attempt attempt(kBytes);
  const std::string block(64 * 1024, 'x');
  std::size_t written = 0;
  {
    const output::ChildStreams launcher = attempt.output.open_launcher().value();
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
  output::OutputPlan plan = kLines;
  plan.shown = output::RankSelection::parse("0").value();
  Attempt attempt(plan);
  const output::ChildStreams zero = attempt.rank(0);
  const output::ChildStreams one = attempt.rank(1);
  const std::string lines = std::string(1023, 'x') + "\n";
  while (write_what_fits(zero.out.get(), lines) > 0) attempt.io.poll(), attempt.io.restart();
  for (int i = 0; i < 2000; ++i) {
    write_all(one.out.get(), lines);
    attempt.io.run_one_for(1ms);
    attempt.io.restart();
  }
  while (attempt.file("rank-1.out").size() < 2000 * lines.size()) attempt.io.run_one_for(20s);
}

namespace {

/// Rank 0 is in the middle of a line too long to be held, and rank 1, which has more to say than is
/// held for it, waits for its end.
struct LongLine : Attempt {
  LongLine() : Attempt(kLines) {
    ::fcntl(out.writer.get(), F_SETPIPE_SZ, 1 << 20);  // so that nobody waits for the reader
    write_all(zero.out.get(), std::string(100'000, 'x'));
    while (shown.size() < 100'000) run_once();
    write_all(one.out.get(), many_lines);
    for (std::size_t waiting = 0; waiting < 64 * 1024;) {
      run_once();
      waiting = file("rank-1.out").size();
    }
  }

  const std::string many_lines = std::string(200'000, '\n') + "end\n";
  output::ChildStreams zero = rank(0);
  output::ChildStreams one = rank(1);
};

}  // namespace

TEST_CASE("a rank that had to wait for another's long line goes on after it", "[job_output]") {
  LongLine attempt;
  CHECK(attempt.shown.find('\n') == std::string::npos);
  write_all(attempt.zero.out.get(), "\n");
  CHECK((attempt.shown_until("end\n") == std::string(100'000, 'x') + "\n" + attempt.many_lines));
}

TEST_CASE("a rank that had to wait for another goes on when that has been silent for long",
          "[job_output]") {
  LongLine attempt;
  CHECK((attempt.shown_until("end\n") == std::string(100'000, 'x') + "\n" + attempt.many_lines));
}

TEST_CASE("what is left in the pipes is read when the job is over, though a stranger holds an end",
          "[job_output]") {
  Attempt attempt(kPrefixed);
  const output::ChildStreams zero = attempt.rank(0);
  write_all(zero.out.get(), "last words");
  CHECK_FALSE(attempt.output.drained());
  attempt.output.finish();
  CHECK(attempt.shown_in_all() == "[rank 0] last words\n");
  CHECK(attempt.output.drained());
}

TEST_CASE("an attempt's output may end at any moment", "[job_output]") {
  output::ignore_output_signals();
  boost::asio::io_context io;
  const Plumbing out = make_pipe();
  output::TerminalWriter terminal(io, output::inspect_streams(out.writer.get(), out.writer.get()));
  Losses nobody;
  std::optional<output::JobOutput> output;
  for (int steps = 0; steps < 6; ++steps) {
    output.emplace(io, terminal, kPrefixed, nobody);
    const output::ChildStreams zero = output->open_rank(Rank{0}).value();
    write_all(zero.out.get(), "line\nhalf");
    for (int i = 0; i < steps; ++i) io.poll_one();
    output.reset();
    io.poll();
    io.restart();
  }
  CHECK(out.read().find("[rank 0] line\n") != std::string::npos);
}
