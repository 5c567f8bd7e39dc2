#pragma once

#include <map>
#include <optional>
#include <set>

#include "safelaunch/base/event.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/watch/activity_sampler.h"
#include "safelaunch/watch/rank_state.h"

namespace safelaunch::ranks {

/// Looks at the live ranks that run on this node, and at the processes of the job that are no
/// rank's. A look tells of all that was done since the look before.
class TrainingLook {
 public:
  struct Seen {
    std::map<Rank, Activity> ranks{};
    std::optional<Activity> others{};
    std::set<Rank> readers{};  ///< ranks that wait for the job's standard input
  };
  [[nodiscard]] Seen look(const std::map<Rank, watch::RankState>& ranks, TimePoint now);

 private:
  host::Procfs table_;
  watch::ActivitySampler sampler_{table_};
};

}  // namespace safelaunch::ranks
