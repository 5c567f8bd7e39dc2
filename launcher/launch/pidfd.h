#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>

/// pidfds by system call: glibc 2.36, the first to declare them, forgot to do so for C++.
namespace safelaunch::pidfd {

/// A descriptor for the process, close-on-exec and readable once it has ended; -1 where there is
/// none of that pid.
inline int open(int pid) {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
}

inline bool send_signal(int fd, int signal) {
  return ::syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0) == 0;
}

}  // namespace safelaunch::pidfd
