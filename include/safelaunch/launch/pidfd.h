#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>

/// Uses pidfds by system call: glibc 2.36, the first to declare them, forgot to do so for C++.
namespace safelaunch::launch::pidfd {

/// Opens a descriptor for the process, close-on-exec and readable once the process has ended; -1
/// where there is none.
inline int open(int pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

/// Whether `open` failed because no process has that pid, which may be free or a thread's by now.
/// After any other error, such as too many open files, the process may well live.
inline bool means_nobody(int error) {
  return error == ESRCH || error == EINVAL || error == ENOENT;
}

/// Whether the process has ended with all its threads; /proc calls it a zombie as soon as the main
/// thread has ended. Ask this after Asio's word, too: Asio reuses its states, and may still deliver
/// the news of an old descriptor.
inline bool has_ended(int fd) {
  pollfd question{fd, POLLIN, 0};
  return ::poll(&question, 1, 0) == 1;
}

inline bool send_signal(int fd, int signal) {
  return ::syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0) == 0;
}

}  // namespace safelaunch::launch::pidfd
