#pragma once

#include <functional>
#include <map>

#include "safelaunch/base/alarm.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/base/event.h"
#include "safelaunch/base/time.h"
#include "safelaunch/launch/helper.h"
#include "safelaunch/ranks/services.h"
#include "safelaunch/watch/activity_sampler.h"
#include "safelaunch/watch/rank_state.h"

namespace safelaunch::ranks {

struct DriverSilent;

/// Decides when ranks that stand still with the CUDA driver loaded are a reason to ask the driver,
/// and when its silence counts. A driver that answers lets the ranks rest, and is asked again only
/// after twice the time. One silence alone may be a driver that wakes its GPUs, or a host that was
/// suspended: the second counts, where the same ranks still stand. Pure.
class DriverDoubt {
 public:
  /// So long ranks may stand still before the driver is asked.
  explicit DriverDoubt(Duration still) : still_(still), patience_(still) {}

  void stands_still(Rank rank, TimePoint now) { still_since_.try_emplace(rank, now); }
  /// The rank is at work, has ended or uses no driver.
  void moves(Rank rank) { still_since_.erase(rank); }

  /// The ranks for which the driver is to be asked now; empty: it is not.
  [[nodiscard]] std::vector<Rank> suspects(TimePoint now) const;
  /// The ranks have rested for so long that they need no close look.
  [[nodiscard]] bool looks_seldom() const { return patience_ > 4 * still_; }

  void answered();
  /// The driver did not answer in time when it was asked for these ranks. Returns whether it now
  /// counts as silent.
  [[nodiscard]] bool silent(const std::vector<Rank>& asked_for, TimePoint now);

 private:
  Duration still_;
  Duration patience_;
  int silences_ = 0;  // silences in a row
  std::map<Rank, TimePoint> still_since_;
};

/// Finds out that the CUDA driver answers nobody. Ranks that stand still in their first call of it
/// wait for no other rank, so no clock runs for them; and nothing that they show tells them from a
/// program that has loaded the driver and rests. So where ranks with the driver stand still, the
/// driver itself is asked, by a process of its own with a deadline: a healthy one answers, and the
/// job is left alone. A silent one is asked twice.
///
/// Looks only until the first rank waits for another, and only where there is a driver.
class DriverWatch {
 public:
  struct Limits {
    Duration still;   ///< so long ranks may stand still before the driver is asked; 0: never asked
    Duration answer;  ///< the time that the driver has to answer
  };

  /// `ranks` are those of the job as they are seen at present.
  DriverWatch(const Services& services, const Limits& limits,
              const std::map<Rank, watch::RankState>& ranks,
              std::function<void(const DriverSilent&)> on_silent)
      : services_(services),
        limits_(limits),
        ranks_(ranks),
        on_silent_(std::move(on_silent)),
        timer_(services.io),
        sampler_(table_),
        doubt_(limits.still) {}

  /// `environment` is the job's: its LD_LIBRARY_PATH decides which driver library is asked.
  void begin(Environment environment);
  void end();

 private:
  void look_later();
  [[nodiscard]] bool find_means();
  void look();
  void note(Rank rank, const watch::RankState& state, TimePoint now);
  void ask(const std::vector<Rank>& ranks);
  void heard(const std::vector<Rank>& ranks, const launch::HelperEnd& end);

  Services services_;
  Limits limits_;
  const std::map<Rank, watch::RankState>& ranks_;
  std::function<void(const DriverSilent&)> on_silent_;
  Alarm timer_;
  host::Procfs table_;
  watch::ActivitySampler sampler_;
  Environment environment_;
  std::string program_;
  bool watching_ = false;
  std::map<ProcessId, bool> has_driver_;
  std::optional<launch::Helper> question_;
  DriverDoubt doubt_;
};

}  // namespace safelaunch::ranks
