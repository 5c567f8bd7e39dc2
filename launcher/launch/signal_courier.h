#pragma once

#include <csignal>

namespace safelaunch::launch::courier {

inline constexpr int kKernel = -1;  // 0 is a sender in another pid namespace (docker stop)

/// How the guardian hands a signal on to the supervisor: as the value of a real-time signal of its
/// own. These are queued, so that two different senders' TERM stay two, and the value has room for
/// what plain forwarding would lose: who sent it, and whether the terminal did.
struct Letter {
  int signal = 0;
  int sender = 0;  ///< a pid, as the guardian sees it; kKernel: the kernel, for the terminal
};

/// The signal that carries letters; one from anybody but the guardian is an ordinary signal.
inline int carrier() {
  return SIGRTMIN + 9;
}

/// Sends it. Where the queue is full (RLIMIT_SIGPENDING), sends the signal plainly.
void send(int supervisor, Letter letter);

/// The letter in the value that came with the carrier.
[[nodiscard]] Letter open(unsigned long long value);

}  // namespace safelaunch::launch::courier
