#pragma once

#include <map>
#include <set>

#include "safelaunch/base/event.h"
#include "safelaunch/host/activity.h"

namespace safelaunch::watch {

/// Tells what ranks do, from the difference between looks at their process trees. Keeps two looks a
/// rank. Ask it for the ranks of `Stages::sample_these()`, before each tick.
class ActivitySampler {
 public:
  explicit ActivitySampler(const host::ProcessTable& table) : table_(table) {}

  /// The rank's activity since the last look; nullopt at the first look.
  [[nodiscard]] std::optional<RankActivity> look(Rank rank, ProcessId process, TimePoint now);

  /// The activity of all processes below the root that are no rank's, taken together.
  [[nodiscard]] std::optional<host::ActivitySeen> look_at_others(ProcessId root,
                                                                 const std::set<ProcessId>& ranks,
                                                                 TimePoint now);

  /// The activity of all processes that are in no rank's tree, taken together: daemons that work
  /// for ranks.
  [[nodiscard]] std::optional<host::ActivitySeen> look_at_helpers(ProcessId root,
                                                                  const std::set<ProcessId>& ranks,
                                                                  TimePoint now);

  /// Nobody waits any more: the looks are too old for a difference when somebody does again.
  void forget() {
    looks_.clear();
    others_ = helpers_ = {};
  }

 private:
  struct Looks {
    std::optional<host::TreeSample> older;
    std::optional<host::TreeSample> newer;
  };
  std::optional<host::ActivitySeen> compare(Looks& looks, host::TreeSample newest);
  /// The processes below the root but for these, and but for what Ray keeps beside a job.
  [[nodiscard]] host::TreeSample sample_without(const std::set<ProcessId>& excluded, ProcessId root,
                                                TimePoint now) const;
  [[nodiscard]] const host::SocketTraffic& traffic_at(TimePoint now);

  const host::ProcessTable& table_;
  std::map<ProcessId, Looks> looks_;
  Looks others_;
  Looks helpers_;
  host::SocketTraffic traffic_;  // asked for once for all that are looked at in one go
  std::optional<TimePoint> traffic_asked_;
};

/// Compares the newest look with the newer of the two kept ones, or with the older where the newer
/// is too close to it. nullopt where there is nothing to compare.
[[nodiscard]] std::optional<host::ActivitySeen> compare_looks(
    const std::optional<host::TreeSample>& older, const std::optional<host::TreeSample>& newer,
    const host::TreeSample& newest);

}  // namespace safelaunch::watch
