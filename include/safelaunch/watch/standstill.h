#pragma once

#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/base/time.h"

namespace safelaunch {

/// Says when a job has stood still as a whole for so long that it is worth a line: no rank waits
/// for another, so no clock runs, and none does anything either, as where all wait for one lock.
/// That alone is no fault, so there is no verdict; the line comes again after twice the time, then
/// after four times. Pure: looks and times are handed in.
///
/// Looks are rare, a quarter of the patience apart, and rarer where the ranks are found at work, or
/// where the line has been told: then the next look comes when the next line is due.
class Standstill {
 public:
  /// A patience of 0 never tells.
  Standstill(Duration patience, TimePoint now)
      : patience_(patience), interval_(patience / 4), tells_after_(patience), looked_at_(now) {}

  /// When to look next; nullopt: never.
  [[nodiscard]] std::optional<TimePoint> next_look() const;

  /// A look found that all ranks have stood still since the look before, or not. The answer is for
  /// how long they have, where it is time to say so.
  [[nodiscard]] std::optional<Duration> on_look(bool all_still, TimePoint now);

 private:
  Duration patience_;
  Duration interval_;
  Duration tells_after_;
  TimePoint looked_at_;
  std::optional<TimePoint> still_since_;
};

/// Where a rank stands.
struct RankPlace {
  Rank rank;
  std::string where;  ///< "train.py:40 main → wait"; empty: it has no hook, or does not answer
  std::string doing;  ///< "sleeping in hrtimer_nanosleep"
};

/// "no rank has used a CPU or files for 3min, and none waits for another: ranks 0-3 in train.py:40
/// main → wait (sleeping in hrtimer_nanosleep)".
[[nodiscard]] std::string describe_standstill(Duration still_for,
                                              const std::vector<RankPlace>& places);

}  // namespace safelaunch
