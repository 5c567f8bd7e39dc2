#pragma once

#include "safelaunch/base/event.h"
#include "safelaunch/base/time.h"
#include "safelaunch/watch/patience.h"

namespace safelaunch::watch {

/// How long a job may stand still before anybody waits; 0: for ever.
struct StandstillLimits {
  Duration told{};  ///< how long until a line says so
  Duration ends{};  ///< how long until it is a verdict (`timeouts: start`)
};

/// All ranks have stood still for so long that something is to follow.
struct StoodStill {
  Duration lasts{};
  enum class Then { is_told, ends_the_job } then = Then::is_told;
  bool operator==(const StoodStill&) const = default;
};

/// Says when a job has stood still as a whole for too long: no rank waits for another, so no clock
/// runs, and none does anything either, as where all wait for one lock. A standstill alone is no
/// fault, so it is a verdict only where somebody has set a limit; else it is worth a line, which
/// comes again after twice the time, then after four times. Pure: looks and times are handed in.
///
/// Looks are rare, a quarter of the shorter limit apart, and rarer where the ranks are found at
/// work, or where the line has been told: then the next look comes when the next line or the
/// verdict is due. Time in which nobody could look does not count (JobClock).
class Standstill {
 public:
  Standstill(const StandstillLimits& limits, TimePoint now);

  /// When to look next; nullopt: never.
  [[nodiscard]] std::optional<TimePoint> next_look() const;

  /// A look found that all ranks have stood still since the look before, or not.
  [[nodiscard]] std::optional<StoodStill> on_look(bool all_still, TimePoint now);

 private:
  [[nodiscard]] Duration longest_interval() const;

  StandstillLimits limits_;
  Duration shortest_interval_;
  Duration interval_;
  Duration told_after_;
  Duration ends_after_;
  JobClock clock_;
  TimePoint looked_at_;                   // when the last look was taken, in job time
  std::optional<TimePoint> still_since_;  // when the present standstill began, in job time
};

/// The place at which a rank stands.
struct RankPlace {
  Rank rank;
  std::string where;  ///< "train.py:40 main → wait"; empty: it has no hook, or does not answer
  std::string doing;  ///< "sleeping in hrtimer_nanosleep"
};

/// "no rank has used a CPU or files for 3min, and none waits for another: ranks 0-3 in train.py:40
/// main → wait (sleeping in hrtimer_nanosleep)".
[[nodiscard]] std::string describe_standstill(Duration still_for,
                                              const std::vector<RankPlace>& places);

}  // namespace safelaunch::watch
