#include "safelaunch/output/std_streams.h"

#include <termios.h>

#include <utility>

#include "catch.h"
#include "plumbing.h"

using namespace safelaunch;

using namespace safelaunch::output;
using namespace safelaunch::testing;

namespace {

bool closes_on_exec(const UniqueFd& fd) {
  return (::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC) != 0;
}

int columns_of(const UniqueFd& terminal) {
  winsize size{};
  ::ioctl(terminal.get(), TIOCGWINSZ, &size);
  return size.ws_col;
}

}  // namespace

TEST_CASE("what our streams are is seen", "[std_streams]") {
  const Plumbing pipe = make_pipe();
  const Plumbing terminal = make_terminal();
  const output::StandardStreams streams =
      output::inspect_streams(terminal.writer.get(), pipe.writer.get());
  CHECK(streams.out.kind == output::StreamTarget::Kind::terminal);
  CHECK(streams.err.kind == output::StreamTarget::Kind::other);
  CHECK_FALSE(streams.joined());
  CHECK(output::inspect_streams(-1, -1).out.kind == output::StreamTarget::Kind::closed);
  CHECK_FALSE(output::inspect_streams(-1, -1).joined());
}

TEST_CASE("a stream that cannot be written to is closed, and the child gets no other",
          "[std_streams]") {
  const UniqueFd read_only(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  const output::StandardStreams ours = output::inspect_streams(read_only.get(), -1);
  CHECK(ours.out.kind == output::StreamTarget::Kind::closed);
  const output::StreamPair pair = output::open_stream_pair(ours, output::Joining::as_ours).value();
  for (const UniqueFd* fd : {&pair.child_out, &pair.child_err, &pair.read_out, &pair.read_err})
    CHECK_FALSE(*fd);
}

TEST_CASE("two descriptors of one place are joined, also if opened apart", "[std_streams]") {
  const Plumbing pipe = make_pipe();
  const UniqueFd copy(::dup(pipe.writer.get()));
  CHECK(output::inspect_streams(pipe.writer.get(), copy.get()).joined());

  const Plumbing terminal = make_terminal();
  const UniqueFd again(::ioctl(terminal.reader.get(), TIOCGPTPEER, O_WRONLY | O_NOCTTY));
  CHECK(output::inspect_streams(terminal.writer.get(), again.get()).joined());
}

TEST_CASE("where ours is a pipe the child gets a pipe", "[stream_pair]") {
  const Plumbing out = make_pipe();
  const Plumbing err = make_pipe();
  const output::StandardStreams ours = output::inspect_streams(out.writer.get(), err.writer.get());
  const output::StreamPair pair = output::open_stream_pair(ours, output::Joining::as_ours).value();
  CHECK(::isatty(pair.child_out.get()) == 0);
  for (const UniqueFd* fd : {&pair.child_out, &pair.child_err, &pair.read_out, &pair.read_err})
    CHECK(closes_on_exec(*fd));
  write_all(pair.child_out.get(), "out");
  write_all(pair.child_err.get(), "err");
  CHECK(read_available(pair.read_out.get()) == "out");
  CHECK(read_available(pair.read_err.get()) == "err");
}

TEST_CASE("where ours is a terminal the child gets one that changes no byte", "[stream_pair]") {
  const Plumbing terminal = make_terminal();
  const Plumbing err = make_pipe();
  const output::StandardStreams ours =
      output::inspect_streams(terminal.writer.get(), err.writer.get());
  output::StreamPair pair = output::open_stream_pair(ours, output::Joining::as_ours, 9).value();
  CHECK(::isatty(pair.child_out.get()) == 1);
  CHECK(::isatty(pair.child_err.get()) == 0);
  CHECK(columns_of(pair.child_out) == 31);

  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  write_all(pair.child_out.get(), bytes + "\n\t\r\n");
  pair.child_out.reset();
  CHECK(read_available(pair.read_out.get()) == bytes + "\n\t\r\n");
}

TEST_CASE("the child's terminal follows ours in size", "[stream_pair]") {
  const Plumbing terminal = make_terminal();
  const output::StandardStreams ours =
      output::inspect_streams(terminal.writer.get(), terminal.writer.get());
  const output::StreamPair pair = output::open_stream_pair(ours, output::Joining::as_ours).value();
  const winsize wider{50, 132, 0, 0};
  ::ioctl(terminal.writer.get(), TIOCSWINSZ, &wider);
  output::copy_window_size(terminal.writer.get(), pair.read_out.get(), 0);
  CHECK(columns_of(pair.child_out) == 132);
  CHECK(output::terminal_columns(terminal.writer.get()) == 132);
}

TEST_CASE("where ours end in one place the child has one stream, in its order", "[stream_pair]") {
  const Plumbing pipe = make_pipe();
  const output::StandardStreams ours =
      output::inspect_streams(pipe.writer.get(), pipe.writer.get());
  const output::StreamPair pair = output::open_stream_pair(ours, output::Joining::as_ours).value();
  CHECK_FALSE(pair.read_err);
  write_all(pair.child_out.get(), "one ");
  write_all(pair.child_err.get(), "two ");
  write_all(pair.child_out.get(), "three");
  CHECK(read_available(pair.read_out.get()) == "one two three");
  CHECK(output::open_stream_pair(ours, output::Joining::never).value().read_err);
}
