#pragma once

#include <optional>
#include <string_view>

namespace safelaunch::host {

/// The kind of wait of a sleeping thread, as far as the kernel tells.
enum class WaitKind {
  unknown,  ///< we may not read it
  inner,    ///< it waits for a thread of its own process, or for the end of a child
  outer,    ///< it waits for something from outside: by a socket, a pipe, a signal, shared memory
  timed,    ///< it sleeps, or waits with a timeout: the wait ends by itself
  lock,     ///< it waits for the lock of a file, which another process holds
};

/// Judges by /proc/PID/task/TID/syscall (number and arguments of the thread's call) and wchan (the
/// kernel function in which it sleeps). The call decides, since a poll with a timeout and one
/// without sleep in the same function; wchan counts only where the call cannot be read.
[[nodiscard]] WaitKind kind_of_wait(std::string_view syscall, std::string_view wchan);

/// The descriptor from which a thread waits to read.
struct AwaitedInput {
  int descriptor = 0;
  bool is_epoll = false;  ///< the descriptors that it waits for stand in this one's fdinfo
};

/// Takes the descriptor from the call alone; of several in a select it is the highest. nullopt for
/// other calls, and for a poll, which keeps its descriptors in the memory of the process.
[[nodiscard]] std::optional<AwaitedInput> awaited_input(std::string_view syscall);

}  // namespace safelaunch::host
