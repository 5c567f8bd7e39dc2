#include "sink.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>

namespace safelaunch::output {
namespace {

UniqueFd open_again(int fd) {
  char path[32];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return UniqueFd(::open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

// True for an error after which no later write to the same stream succeeds.
bool is_final(int error) {
  return error == EPIPE || error == EBADF || error == EIO || error == ECONNRESET;
}

}  // namespace

Sink::Sink(int fd) : fd_(fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    way_ = Way::gone;
  } else if (S_ISSOCK(status.st_mode)) {
    way_ = Way::socket;
  } else if (S_ISFIFO(status.st_mode) || S_ISCHR(status.st_mode)) {
    own_ = open_again(fd);
    way_ = own_ ? Way::plain : Way::cautious;
  }
}

std::size_t Sink::write(std::string_view bytes) {
  std::size_t done = 0;
  while (way_ != Way::gone && done < bytes.size()) {
    const long written = write_some(bytes.substr(done));
    if (written >= 0) {
      done += static_cast<std::size_t>(written);
    } else if (errno == EAGAIN) {
      return done;
    } else if (is_final(errno)) {
      way_ = Way::gone;
    } else if (errno != EINTR) {
      break;  // the disk is full, perhaps only now: these bytes are lost, later ones may not be
    }
  }
  lost_ += bytes.size() - done;
  return bytes.size();
}

void Sink::abandon() {
  way_ = Way::gone;
}

long Sink::write_some(std::string_view bytes) const {
  switch (way_) {
    case Way::plain: return ::write(fd(), bytes.data(), bytes.size());
    case Way::socket: return ::send(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    case Way::cautious: {
      // A pipe that is writable takes PIPE_BUF bytes without blocking.
      pollfd waiter{fd_, POLLOUT, 0};
      if (::poll(&waiter, 1, 0) == 1)
        return ::write(fd_, bytes.data(), std::min<std::size_t>(bytes.size(), PIPE_BUF));
      errno = EAGAIN;
      return -1;
    }
    case Way::gone: break;
  }
  errno = EBADF;
  return -1;
}

}  // namespace safelaunch::output
