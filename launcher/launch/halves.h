#pragma once

#include <termios.h>

#include <atomic>
#include <csignal>
#include <cstdint>

#include "safelaunch/base/time.h"

/// The two halves of safelaunch, guardian and supervisor, talk to each other by these.
namespace safelaunch::launch {

/// A page that both share: it works where one of them can neither be signalled nor reaped.
struct Halves {
  std::atomic<unsigned> heard;  ///< how many of the guardian's letters the supervisor has read
  std::atomic<int> farewell;    ///< 1 + the exit code with which the supervisor is ending
  /// Until when processes of the job may live, as Clock's own count; 0: there is no such limit.
  std::atomic<Clock::rep> lease_until;
  /// The signal by which the job was stopped, where the supervisor stops itself because of it.
  std::atomic<int> stops_by;
  std::atomic<bool> did_not_stop;  ///< the kernel ignored it: no shell is there to let us go on
  std::atomic<bool> keys_lent;     ///< the terminal's keys are the job's, and `modes` its own modes
  termios modes;
};

/// The shared page; nullptr where the program was not split, or the kernel had no page.
[[nodiscard]] Halves* halves();

/// The sender of a letter where the kernel sent the signal. 0 is a sender in another pid namespace
/// (docker stop).
inline constexpr int kKernel = -1;

/// The guardian hands a signal on to the supervisor as a letter: the value of a real-time signal.
/// Real-time signals are queued, so that the TERMs of two senders stay two, and the value has room
/// for what plain forwarding would lose: the sender, and whether it was the terminal.
struct Letter {
  int signal = 0;
  int sender = 0;  ///< a pid, as the guardian sees it; kKernel: the kernel, for the terminal
};

/// The signal that carries letters. From anybody but the guardian it is an ordinary signal.
inline int letter_carrier() {
  return SIGRTMIN + 9;
}

/// Sends a letter. Where the queue is full (RLIMIT_SIGPENDING), sends the signal plainly.
inline void send_letter(int supervisor, Letter letter) {
  const auto value = static_cast<std::uint64_t>(static_cast<std::uint32_t>(letter.sender)) << 8 |
                     static_cast<std::uint64_t>(letter.signal);
  sigval carried{};
  carried.sival_ptr = reinterpret_cast<void*>(value);
  if (::sigqueue(supervisor, letter_carrier(), carried) != 0) ::kill(supervisor, letter.signal);
}

/// The letter in the value that came with the carrier.
[[nodiscard]] inline Letter open_letter(unsigned long long value) {
  return {static_cast<int>(value & 0xff), static_cast<int>(static_cast<std::uint32_t>(value >> 8))};
}

}  // namespace safelaunch::launch
