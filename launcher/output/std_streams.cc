#include "safelaunch/output/std_streams.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

namespace safelaunch::output {
namespace {

StreamTarget inspect(int fd) {
  StreamTarget target{fd, StreamTarget::Kind::closed, {}};
  struct stat status {};
  if (::fstat(fd, &status) != 0) return target;
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

}  // namespace safelaunch::output
