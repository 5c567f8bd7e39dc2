#pragma once
#include <sys/wait.h>

#include <cerrno>

namespace safelaunch::launch {

/// The next child that has ended, or stopped where `options` hold WUNTRACED, with its wait status;
/// 0 where there is none now, -1 where we have no child (errno is ECHILD then). It asks again where
/// it is interrupted: one SIGCHLD tells of each end, and whoever misses it waits for ever.
[[nodiscard]] inline pid_t next_ended_child(int& wait_status, int options = 0) {
  pid_t pid = 0;
  do pid = ::waitpid(-1, &wait_status, WNOHANG | options);
  while (pid < 0 && errno == EINTR);
  return pid;
}

}  // namespace safelaunch::launch
