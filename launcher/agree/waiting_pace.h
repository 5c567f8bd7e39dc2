#pragma once

#include <cstdint>
#include <optional>

#include "safelaunch/base/time.h"

namespace safelaunch::agree {

/// When the user is told again that something is waited for: after 5 s, then after twice as long
/// each time, up to five minutes, and a tenth more or less, so that many agents do not speak at
/// once.
class WaitingPace {
 public:
  explicit WaitingPace(std::uint64_t seed) : seed_(seed) {}

  /// The waiting begins, if it has not yet.
  void begin(TimePoint now);
  void end() { next_.reset(); }
  /// Whether it is time for a line; then the next one is later.
  [[nodiscard]] bool is_time(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next() const { return next_; }

 private:
  [[nodiscard]] Duration with_jitter(Duration pause);

  std::uint64_t seed_;
  Duration pause_{};
  std::optional<TimePoint> next_;
};

}  // namespace safelaunch::agree
