#include "safelaunch/output/terminal_writer.h"

#include <boost/asio/io_context.hpp>

#include "catch.h"
#include "plumbing.h"

using namespace safelaunch;

using namespace safelaunch::output;
using namespace safelaunch::testing;
using namespace std::chrono_literals;

namespace {

const std::string kMebibyte(1 << 20, 'x');

/// A TerminalWriter to one place, stdout and stderr together.
struct Written {
  explicit Written(Plumbing to)
      : plumbing(std::move(to)),
        terminal(io, output::inspect_streams(plumbing.writer.get(), plumbing.writer.get())) {}

  /// Reads, and lets handlers run, until the text has come.
  std::string read_until(std::string_view end) {
    std::string got = plumbing.read();
    while (got.find(end) == got.npos) {
      if (io.stopped()) io.restart();
      if (io.run_one_for(10s) == 0) throw std::runtime_error("nothing came after: " + got);
      got += plumbing.read();
    }
    return got;
  }

  boost::asio::io_context io;
  Plumbing plumbing;
  output::TerminalWriter terminal;
};

}  // namespace

TEST_CASE("the job's bytes reach the terminal at once and unchanged", "[terminal_writer]") {
  Written written(make_pipe());
  written.terminal.write_job(output::StdStream::out, "out \x1b[2J");
  written.terminal.write_job(output::StdStream::err, "err");
  CHECK(written.plumbing.read() == "out \x1b[2Jerr");
  CHECK(written.terminal.flushed());
}

TEST_CASE("what a slow reader does not take is kept, and the rest follows when it does",
          "[terminal_writer]") {
  Written written(make_pipe());
  int flushed = 0;
  written.terminal.on_flushed([&] { ++flushed; });
  written.terminal.write_job(output::StdStream::out, kMebibyte);
  CHECK_FALSE(written.terminal.has_room(output::StdStream::out));
  written.terminal.write_job(output::StdStream::out, "end");
  CHECK((written.read_until("end") == kMebibyte + "end"));
  CHECK(written.terminal.flushed());
  CHECK(written.terminal.has_room(output::StdStream::out));
  CHECK(flushed == 1);
}

TEST_CASE("a reader that goes away while we wait for it is a loss and nothing more",
          "[terminal_writer]") {
  output::ignore_output_signals();
  Written written(make_pipe());
  written.terminal.write_job(output::StdStream::out, kMebibyte);
  written.plumbing.reader.reset();
  while (!written.terminal.flushed()) REQUIRE(written.io.run_one_for(10s) > 0);
  CHECK(written.terminal.has_room(output::StdStream::out));
  CHECK(written.terminal.lost().bytes > 0);
}

TEST_CASE("flush waits until a reader has taken all, but no longer than it is told",
          "[terminal_writer]") {
  Written written(make_pipe());
  written.terminal.write_job(output::StdStream::out, "half a line");
  written.terminal.write_message("the report");
  CHECK(written.terminal.flush(1ms));
  CHECK(written.plumbing.read() == "half a line\nthe report\n");
  written.terminal.write_job(output::StdStream::out, kMebibyte);
  CHECK_FALSE(written.terminal.flush(1ms));
}

TEST_CASE("our message waits for the end of a job's line, or for its standing still",
          "[terminal_writer]") {
  Written written(make_pipe());
  written.terminal.write_job(output::StdStream::out, "step 1 ");
  written.terminal.write_message("rank 3 is stopped");
  CHECK(written.plumbing.read() == "step 1 ");
  written.terminal.write_job(output::StdStream::out, "done\n");
  CHECK(written.plumbing.read() == "done\nrank 3 is stopped\n");

  written.terminal.write_job(output::StdStream::out, "Continue? ");
  written.terminal.write_message("rank 3 is gone");
  CHECK(written.read_until("gone\n") == "Continue? \nrank 3 is gone\n");
}

TEST_CASE("the status line is on a terminal only, and is gone with its writer",
          "[terminal_writer]") {
  Plumbing window;
  {
    Written written(make_terminal());
    written.terminal.set_status("waiting for rank 3, which has not come yet and is asleep");
    CHECK(written.plumbing.read() == "waiting for rank 3, which has n… asleep");
    written.terminal.write_job(output::StdStream::out, "loss 1\n");
    CHECK(written.plumbing.read() == "\r\x1b[Kloss 1\r\nwaiting for rank 3, which has n… asleep");
    window.reader.reset(::dup(written.plumbing.reader.get()));
  }
  CHECK(window.read() == "\r\x1b[K");

  Written file(make_pipe());
  file.terminal.set_status("waiting");
  CHECK(file.plumbing.read().empty());
}

TEST_CASE("a terminal that was stopped sees the last status only, once it goes on",
          "[terminal_writer]") {
  Written written(make_terminal());
  written.terminal.write_job(output::StdStream::out, kMebibyte + "\n");
  for (int second = 0; second < 100; ++second)
    written.terminal.set_status("waiting " + std::to_string(second) + "s");
  const std::string seen = written.read_until("99s");
  CHECK(seen.find("98s") == seen.npos);
}

TEST_CASE("the status line follows the size of the window", "[terminal_writer]") {
  Written written(make_terminal());
  written.terminal.set_status("0123456789");
  written.plumbing.read();
  const winsize narrow{24, 6, 0, 0};
  ::ioctl(written.plumbing.writer.get(), TIOCSWINSZ, &narrow);
  written.terminal.window_changed();
  CHECK(written.plumbing.read() == "\r\x1b[K01234");
}

TEST_CASE("with stdout and stderr closed nothing is written and nothing fails",
          "[terminal_writer]") {
  boost::asio::io_context io;
  output::TerminalWriter terminal(io, output::inspect_streams(-1, -1));
  terminal.write_job(output::StdStream::out, "hello");
  terminal.write_message("world");
  CHECK(terminal.flushed());
  CHECK(terminal.lost().bytes == 11);
  CHECK(terminal.lost().refusal.empty());
}
