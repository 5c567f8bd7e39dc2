#pragma once

#include <atomic>

namespace safelaunch::launch {

/// What the two halves tell each other through a page that they share: it works where one of them
/// can neither be signalled nor reaped.
struct Halves {
  std::atomic<unsigned> heard;  ///< letters of the guardian that the supervisor has read
  std::atomic<int> farewell;    ///< 1 + the exit code with which the supervisor is ending
};

/// The page; nullptr where the program was not split, or the kernel had none.
[[nodiscard]] Halves* halves();

}  // namespace safelaunch::launch
