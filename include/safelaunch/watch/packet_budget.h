#pragma once

#include "safelaunch/base/time.h"

namespace safelaunch::watch {

/// How many packets of one connection are read as they come. A rank at its start says some dozens
/// at once, and a script that fails in a loop some thousands a second, for ever: each costs the
/// time of everybody else's news.
class PacketBudget {
 public:
  static constexpr int kAtOnce = 4000;
  static constexpr int kASecond = 1000;

  explicit PacketBudget(TimePoint now) : at_(now) {}

  /// Whether one more may be read now; it counts then.
  [[nodiscard]] bool take(TimePoint now);

 private:
  double left_ = kAtOnce;
  TimePoint at_;
};

}  // namespace safelaunch::watch
