#include "safelaunch/output/std_streams.h"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "safelaunch/base/format.h"

// Each of our streams is judged by itself: a terminal gets the child a terminal, anything else a
// pipe. Two streams are one where the kernel names one file or one terminal for both, however
// they were opened; then the child has one stream, since only that keeps the order between the
// two.
namespace safelaunch::output {
namespace {

// What stands for a descriptor that was closed at the start goes with the next exec.
bool takes_output(int fd) {
  const int flags = ::fcntl(fd, F_GETFD);
  const bool stands_in = fd <= STDERR_FILENO && (flags & FD_CLOEXEC) != 0;
  return flags >= 0 && !stands_in && (::fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY;
}

StreamTarget inspect(int fd) {
  StreamTarget target{fd, StreamTarget::Kind::closed, {}};
  struct stat status {};
  if (!takes_output(fd) || ::fstat(fd, &status) != 0) return target;
  target.kind = ::isatty(fd) != 0 ? StreamTarget::Kind::terminal : StreamTarget::Kind::other;
  target.identity = {status.st_dev, status.st_ino};
  // /dev/tty and /dev/pts/3 may be one terminal, and the kernel knows its true number.
  unsigned terminal = 0;
  if (target.kind == StreamTarget::Kind::terminal && ::ioctl(fd, TIOCGDEV, &terminal) == 0)
    target.identity = {0, terminal};
  return target;
}

}  // namespace

bool StandardStreams::joined() const {
  return out.kind != StreamTarget::Kind::closed && out.kind == err.kind &&
         out.identity == err.identity;
}

StandardStreams inspect_streams(int out_fd, int err_fd) {
  return {inspect(out_fd), inspect(err_fd)};
}

void ignore_output_signals() {
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
}

namespace {

// A large pipe lets a worker that writes a burst sleep less often. It is a quarter of the size that
// an unprivileged user may ask for, since all pipes of a user together have a limit, too.
constexpr int kPipeSize = 256 * 1024;

struct Ends {
  UniqueFd child;
  UniqueFd read;
};

std::optional<Ends> open_pty(int our_terminal, int columns_taken) {
  Ends ends;
  ends.read.reset(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK));
  if (!ends.read || ::grantpt(ends.read.get()) != 0 || ::unlockpt(ends.read.get()) != 0) return {};
  // Opens the child's end by descriptor and not by name, because a container may have another
  // /dev/pts.
  ends.child.reset(::ioctl(ends.read.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  termios modes{};
  if (!ends.child || ::tcgetattr(ends.child.get(), &modes) != 0) return {};
  modes.c_oflag &= ~static_cast<tcflag_t>(OPOST);
  if (::tcsetattr(ends.child.get(), TCSANOW, &modes) != 0) return {};
  copy_window_size(our_terminal, ends.read.get(), columns_taken);
  return ends;
}

Result<Ends> open_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0)
    return Error{Errc::os,
                 fmt::format("cannot open a pipe for a worker's output: {}", std::strerror(errno))};
  ::fcntl(fds[0], F_SETFL,
          O_NONBLOCK);  // only the reading end: each end is an open file of its own
  ::fcntl(fds[1], F_SETPIPE_SZ, kPipeSize);
  return Ends{UniqueFd(fds[1]), UniqueFd(fds[0])};
}

Result<Ends> open_ends(const StreamTarget& ours, int columns_taken) {
  if (ours.kind == StreamTarget::Kind::closed) return Ends{};
  if (ours.kind == StreamTarget::Kind::terminal) {
    if (auto pty = open_pty(ours.fd, columns_taken)) return std::move(*pty);
  }
  return open_pipe();
}

}  // namespace

Result<StreamPair> open_stream_pair(const StandardStreams& ours, Joining joining,
                                    int columns_taken) {
  StreamPair pair;
  auto out = open_ends(ours.out, columns_taken);
  if (!out) return out.error();
  pair.child_out = std::move(out->child);
  pair.read_out = std::move(out->read);
  if (joining == Joining::as_ours && ours.joined()) {
    pair.child_err.reset(::fcntl(pair.child_out.get(), F_DUPFD_CLOEXEC, 0));
    if (pair.child_err) return pair;
    return Error{Errc::os, fmt::format("cannot share a worker's stdout with its stderr: {}",
                                       std::strerror(errno))};
  }
  auto err = open_ends(ours.err, columns_taken);
  if (!err) return err.error();
  pair.child_err = std::move(err->child);
  pair.read_err = std::move(err->read);
  return pair;
}

void copy_window_size(int our_fd, int pty_fd, int columns_taken) {
  winsize size{};
  if (::ioctl(our_fd, TIOCGWINSZ, &size) != 0) return;
  size.ws_col = static_cast<unsigned short>(std::max(size.ws_col - columns_taken, 0));
  ::ioctl(pty_fd, TIOCSWINSZ, &size);
}

int terminal_columns(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace safelaunch::output
