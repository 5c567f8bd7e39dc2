#include "safelaunch/ranks/training_look.h"

#include <set>

#include "safelaunch/host/identity.h"

namespace safelaunch::ranks {

TrainingLook::Seen TrainingLook::look(const std::map<Rank, watch::RankState>& ranks,
                                      TimePoint now) {
  Seen seen;
  std::set<ProcessId> known;
  for (const auto& [rank, state] : ranks) {
    if (!state.alive() || !state.process()->is_here()) continue;
    known.insert(*state.process());
    const auto looked = sampler_.look(rank, *state.process(), now);
    seen.ranks[rank] = looked ? looked->activity : Activity::unseen;
    if (looked && looked->awaits_input) seen.readers.insert(rank);
  }
  if (const auto others = sampler_.look_at_others(host::self(), known, now))
    seen.others = others->activity;
  return seen;
}

}  // namespace safelaunch::ranks
