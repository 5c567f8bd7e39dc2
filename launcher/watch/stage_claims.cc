#include <algorithm>
#include <utility>

#include "safelaunch/watch/stages.h"

// Which process is which rank. A process claims a rank by what it tells, and the stronger evidence
// wins. Two that come to the others under one number are of two worlds where they meet at two
// places; Stages judges the world that was first.
namespace safelaunch::watch {

RankState* Stages::claim(Rank rank, ProcessId process, Source source, RankEvidence evidence,
                         TimePoint now) {
  if (const auto other = elsewhere_.find(process);
      other != elsewhere_.end() && is_of_another_world(other->second.store))
    return nullptr;
  const RankState* held = held_by(rank, process);
  const std::optional<Rank> present = held && held->alive() ? rank : rank_of(process);
  if (present && *present != rank && !change_places(*present, rank, evidence)) return nullptr;
  RankState& state = ranks_[rank];
  // A guess from /proc counts for nothing beside the word of the hook.
  if (source == Source::proc && !state.blind()) return nullptr;
  const std::optional<TimePoint> former_end = state.ended_at();
  switch (state.claim(process, evidence, now)) {
    case RankClaim::held: return &state;
    case RankClaim::taken:
      if (former_end) forget_the_dead_beside(rank, *former_end);
      return &state;
    case RankClaim::contested: elsewhere_.try_emplace(process, Elsewhere{rank, {}}); return nullptr;
    case RankClaim::ignored: return nullptr;
  }
  return nullptr;
}

// A script that catches the failure of its ranks and starts others has done with those that failed.
void Stages::forget_the_dead_beside(Rank rank, TimePoint former_end) {
  if (config_.dead_rank != DeadRank::hangs_the_others) return;
  for (auto& [other, state] : ranks_)
    if (other != rank && state.ended() && state.began_at() <= former_end) state = RankState();
}

// A script may give itself another rank than its launcher did. A process that had that rank only by
// its environment takes the one that becomes free. False: the process stays what it is.
bool Stages::change_places(Rank from, Rank to, RankEvidence evidence) {
  RankState& present = ranks_[from];
  if (evidence < RankEvidence::hook) return false;
  if (present.evidence() == RankEvidence::entered && evidence < RankEvidence::entered) return false;
  RankState& wanted = ranks_[to];
  const bool contested = wanted.alive() && wanted.evidence() == RankEvidence::entered;
  if (!contested) std::swap(present, wanted);
  return true;
}

void Stages::give_back(ProcessId process) {
  elsewhere_.erase(process);
  for (auto& [rank, state] : ranks_) state.forget_wrapper(process);
  if (const auto rank = rank_of(process)) {
    ranks_[*rank].give_back();
    const std::vector<Rank>& here = config_.expected_here;
    if (!ranks_[*rank].known() && std::ranges::find(here, *rank) == here.end()) ranks_.erase(*rank);
  }
  take_stock();
}

RankState* Stages::held_by(Rank rank, ProcessId process) {
  const auto found = ranks_.find(rank);
  return found != ranks_.end() && found->second.process() == process ? &found->second : nullptr;
}

std::optional<Rank> Stages::rank_of(ProcessId process) const {
  for (const auto& [rank, state] : ranks_)
    if (state.alive() && state.process() == process) return rank;
  return std::nullopt;
}

// Whether a process meets others there as a rank that here is one which meets at another store.
bool Stages::is_of_another_world(const std::string& store) const {
  return !store.empty() && std::ranges::any_of(elsewhere_, [&](const auto& one) {
    const auto here = ranks_.find(one.second.rank);
    return one.second.store == store && here != ranks_.end() && here->second.alive() &&
           !here->second.store.empty() && here->second.store != store;
  });
}

// The ranks of two worlds may come in any order, as those of two engines of vLLM do: who had come
// first as rank 1 may belong to the world of the second rank 0.
void Stages::part_worlds() {
  std::erase_if(ranks_, [&](const auto& one) {
    const auto& [rank, state] = one;
    if (!state.alive() || !is_of_another_world(state.store)) return false;
    elsewhere_[*state.process()] = {rank, state.store, state.reached(Stage::collective)};
    return true;
  });
}

}  // namespace safelaunch::watch
