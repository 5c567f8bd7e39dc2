#pragma once

#include <algorithm>

#include "safelaunch/base/time.h"
#include "safelaunch/watch/rank_state.h"

namespace safelaunch::watch {

/// Job time: monotonic time without the spells in which nobody could look. A safelaunch that was
/// itself stopped for a minute (SIGSTOP, a suspended laptop, a frozen cgroup) has not seen its
/// ranks wait for a minute, so that minute counts against nobody.
class JobClock {
 public:
  /// Job time at `now`. `due` is when the caller had asked to be called again; being much later
  /// than that shows that we slept.
  TimePoint read(TimePoint now, std::optional<TimePoint> due) {
    now = std::max(now, last_);
    if (due && now - std::max(*due, last_) > kLateness) lost_ += now - std::max(*due, last_);
    last_ = now;
    return now - lost_;
  }

  /// As read, but the time since the last reading does not count either.
  TimePoint read_frozen(TimePoint now) {
    now = std::max(now, last_);
    lost_ += now - last_;
    last_ = now;
    return now - lost_;
  }

  /// Job time at `now`, without having looked.
  [[nodiscard]] TimePoint at(TimePoint now) const { return now - lost_; }

  /// The time that did not count so far.
  [[nodiscard]] Duration lost() const { return std::chrono::duration_cast<Duration>(lost_); }

  /// The monotonic time of an instant of job time that lies ahead.
  [[nodiscard]] TimePoint monotonic(TimePoint job_time) const { return job_time + lost_; }

 private:
  // A busy machine delays a timer by tenths of a second; five seconds late means that we were not
  // running at all.
  static constexpr std::chrono::seconds kLateness{5};

  TimePoint last_{};
  Clock::duration lost_{};
};

/// How long the ranks that wait in a stage wait for the others; 0 waits for ever. The first four
/// are a profile's `timeouts`.
struct StageLimits {
  Duration init = std::chrono::seconds(180);  ///< the limit for rendezvous, group and communicator
  Duration collective = std::chrono::seconds(180);  ///< the limit for the first collective
  Duration quiet = std::chrono::seconds(30);        ///< the limit for a rank that nothing will wake
  Duration work = std::chrono::minutes(30);  ///< the limit for a rank that works, or is not seen
  /// The limit for a rank that is stopped all the time: a checkpointer holds one for a while.
  Duration stopped = std::chrono::seconds(30);
  /// How long after a rank's end the news of the others may still be on its way.
  Duration news = std::chrono::seconds(5);
  /// How long whoever started the ranks has to react to one that failed: a script may catch it, end
  /// the others and start anew.
  Duration reaction{};
};

/// The limit of the stage itself.
[[nodiscard]] Duration limit_of(Stage stage, const StageLimits& limits);

/// A deadline in job time.
struct Patience {
  std::optional<TimePoint> until;  ///< nullopt: for ever
  bool certain = false;  ///< the rank will not come: nobody else's work is a reason to wait longer
};

/// Until when a rank that has not come through `stage` is waited for, where the first of the others
/// began to wait at `since`. The table is in docs/stages.md.
[[nodiscard]] Patience patience_with(const RankState& rank, Stage stage, TimePoint since,
                                     TimePoint now, const StageLimits& limits);

}  // namespace safelaunch::watch
