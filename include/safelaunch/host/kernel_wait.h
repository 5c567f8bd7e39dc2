#pragma once

#include <string_view>

namespace safelaunch {

/// What a sleeping thread waits for, as far as the kernel tells.
enum class WaitKind {
  unknown,  ///< we may not read it
  open,     ///< for something that need never come: a futex, a socket, a pipe without a timeout
  timed,    ///< a sleep, or a wait that gave a timeout: it ends by itself
  lock,     ///< a lock on a file that another process holds
};

/// From /proc/PID/task/TID/syscall (number and arguments of the call that the thread is in) and
/// wchan (the kernel function it sleeps in). The call decides, since a poll with and without a
/// timeout sleep in the same function; wchan is for where the call cannot be read.
[[nodiscard]] WaitKind kind_of_wait(std::string_view syscall, std::string_view wchan);

}  // namespace safelaunch
