#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

/// pidfds by system call: glibc 2.36, the first to declare them, forgot to do so for C++.
namespace safelaunch::launch::pidfd {

/// A descriptor for the process, close-on-exec and readable once it has ended; -1 where there is
/// none of that pid.
inline int open(int pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

/// Whether `open` failed because no process has that pid, which may be free or a thread's by now.
/// After any other error, as of too many open files, the process may well live.
inline bool means_nobody(int error) {
  return error == ESRCH || error == EINVAL || error == ENOENT;
}

/// Whether the process has ended, with all its threads: /proc calls it a zombie as soon as the main
/// one has. To be asked where Asio says so, too: it uses its states again, and the news of an old
/// descriptor may be under way.
inline bool has_ended(int fd) {
  pollfd question{fd, POLLIN, 0};
  return ::poll(&question, 1, 0) == 1;
}

inline bool send_signal(int fd, int signal) {
  return ::syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0) == 0;
}

}  // namespace safelaunch::launch::pidfd
