#include "inherited.h"

#include <algorithm>

#include "safelaunch/host/proc.h"

namespace safelaunch::launch {
namespace {

/// Opens /dev/null in place of closed ones; close-on-exec, so that the job starts with them closed,
/// as it would without us.
void fill_closed_standard_fds() {
  int fd = 0;
  do fd = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) ::close(fd);
}

sigset_t ignored_signals() {
  sigset_t ignored;
  sigemptyset(&ignored);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      sigaddset(&ignored, signal);
  }
  return ignored;
}

std::vector<int> open_fds() {
  std::vector<int> fds;
  host::for_each_number("/proc/self/fd", [&](int fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    if (fd > STDERR_FILENO && flags >= 0 && (flags & FD_CLOEXEC) == 0) fds.push_back(fd);
  });
  std::sort(fds.begin(), fds.end());
  return fds;
}

Inherited take() {
  fill_closed_standard_fds();
  Inherited result{{}, ignored_signals(), open_fds(), {}};
  ::getrlimit(RLIMIT_NOFILE, &result.descriptors);
  ::sigprocmask(SIG_BLOCK, nullptr, &result.mask);
  ::signal(SIGCHLD, SIG_DFL);  // while it is ignored the kernel reaps our children unseen
  return result;
}

}  // namespace

const Inherited& inherited() {
  static const Inherited taken = take();
  return taken;
}

}  // namespace safelaunch::launch
