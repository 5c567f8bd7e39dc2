#include "launcher/output/outlet.h"

#include <sys/socket.h>

#include <cerrno>
#include <csignal>

#include "catch.h"
#include "plumbing.h"
#include "safelaunch/output/std_streams.h"

using namespace safelaunch;

using namespace safelaunch::output;
using namespace safelaunch::testing;

namespace {

const std::string kMuch(1 << 20, 'x');

}  // namespace

TEST_CASE("a sink writes to pipes, terminals, sockets and files", "[sink]") {
  const Plumbing pipe = make_pipe();
  CHECK(output::Sink(pipe.writer.get()).write("to a pipe") == 9);
  CHECK(pipe.read() == "to a pipe");

  const Plumbing terminal = make_terminal();
  CHECK(output::Sink(terminal.writer.get()).write("to a terminal\n") == 14);
  CHECK(terminal.read() == "to a terminal\r\n");

  int fds[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
  const Plumbing socket{UniqueFd(fds[0]), UniqueFd(fds[1])};
  ::fcntl(fds[1], F_SETFL, O_NONBLOCK);
  CHECK(output::Sink(fds[0]).write("to a socket") == 11);
  CHECK(socket.read() == "to a socket");

  const TemporaryDirectory directory;
  const UniqueFd file(
      ::open((directory.path() / "log").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  write_all(file.get(), "shell, ");
  CHECK(output::Sink(file.get()).write("job, ") == 5);
  write_all(file.get(), "shell");
  CHECK(contents(directory.path() / "log") == "shell, job, shell");
}

TEST_CASE("a reader that sleeps does not block us, and our caller's descriptor stays as it was",
          "[sink]") {
  for (const bool terminal : {false, true}) {
    const Plumbing plumbing = terminal ? make_terminal() : make_pipe();
    const int flags = ::fcntl(plumbing.writer.get(), F_GETFL);
    output::Sink sink(plumbing.writer.get());
    const std::size_t taken = sink.write(kMuch);
    CHECK(taken > 0);
    CHECK(taken < kMuch.size());
    CHECK(sink.lost() == 0);
    CHECK(::fcntl(plumbing.writer.get(), F_GETFL) == flags);
  }
}

TEST_CASE("a stream that somebody has made non-blocking loses nothing", "[sink]") {
  const Plumbing pipe = make_pipe();
  ::fcntl(pipe.writer.get(), F_SETFL, O_NONBLOCK);
  output::Sink sink(pipe.writer.get());
  std::size_t written = sink.write(kMuch);
  std::string got;
  while (written < kMuch.size()) {
    got += pipe.read();
    written += sink.write(std::string_view(kMuch).substr(written));
  }
  got += pipe.read();
  CHECK((got == kMuch));
  CHECK(sink.lost() == 0);
}

TEST_CASE("what goes to a reader that has gone is lost and counted", "[sink]") {
  output::ignore_output_signals();
  Plumbing pipe = make_pipe();
  output::Sink sink(pipe.writer.get());
  pipe.reader.reset();
  CHECK(sink.write("hello") == 5);
  CHECK(sink.write("world") == 5);
  CHECK(sink.lost() == 10);
  CHECK(sink.refusal() == 0);
}

TEST_CASE("a terminal that was hung up loses what it is sent and does no harm", "[sink]") {
  Plumbing terminal = make_terminal();
  output::Sink sink(terminal.writer.get());
  terminal.reader.reset();
  CHECK(sink.write("hello") == 5);
  CHECK(sink.lost() == 5);
  CHECK(sink.refusal() == 0);
}

TEST_CASE("a closed descriptor takes and loses everything", "[sink]") {
  output::Sink sink(-1);
  CHECK(sink.write("hello") == 5);
  CHECK(sink.lost() == 5);
  CHECK(sink.refusal() == 0);
}

TEST_CASE("a full disk loses what does not fit and is tried again, and the reason is kept",
          "[sink]") {
  const UniqueFd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  output::Sink sink(full.get());
  CHECK(sink.write("hello") == 5);
  CHECK(sink.write("hello") == 5);
  CHECK(sink.lost() == 10);
  CHECK(sink.refusal() == ENOSPC);
}
