#pragma once

#include <optional>
#include <string_view>

namespace safelaunch::host {

/// What a sleeping thread waits for, as far as the kernel tells.
enum class WaitKind {
  unknown,  ///< we may not read it
  inner,    ///< for a thread of its own process, or for the end of a child
  outer,    ///< for what may come from anywhere: by a socket, a pipe, a signal, shared memory
  timed,    ///< a sleep, or a wait that gave a timeout: it ends by itself
  lock,     ///< a lock on a file that another process holds
};

/// From /proc/PID/task/TID/syscall (number and arguments of the call that the thread is in) and
/// wchan (the kernel function it sleeps in). The call decides, since a poll with and without a
/// timeout sleep in the same function; wchan is for where the call cannot be read.
[[nodiscard]] WaitKind kind_of_wait(std::string_view syscall, std::string_view wchan);

/// The descriptor of which a thread waits for something to read.
struct AwaitedInput {
  int descriptor = 0;
  bool is_epoll = false;  ///< what it waits for stands in the descriptor's fdinfo
};

/// The same from the call alone. Of several descriptors in a select the highest; nullopt for other
/// calls, and for a poll, which keeps its descriptors in the memory of the process.
[[nodiscard]] std::optional<AwaitedInput> awaited_input(std::string_view syscall);

}  // namespace safelaunch::host
