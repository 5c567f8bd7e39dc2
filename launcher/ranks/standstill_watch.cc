#include "safelaunch/ranks/standstill_watch.h"

#include "safelaunch/host/identity.h"
#include "safelaunch/ranks/rank_events.h"

// All ranks stand still where none of them has used CPU or io, nor received anything, between two
// looks, and no process beside them works for them. A rank that waits for others is judged by its
// stage instead. The looks are rare, because each reads the whole process tree of every rank.
namespace safelaunch::ranks {
namespace {

bool waits_in_a_stage(const watch::RankState& rank) {
  for (const Stage stage :
       {Stage::rendezvous, Stage::group, Stage::communicator, Stage::collective})
    if (rank.waits_in(stage)) return true;
  return false;
}

}  // namespace

void StandstillWatch::begin() {
  standstill_.emplace(limits_, Clock::now());
  look_later();
}

void StandstillWatch::end() {
  timer_.cancel();
  standstill_.reset();
  looks_.clear();
  others_.forget();
}

void StandstillWatch::look_later() {
  const auto next = standstill_ ? standstill_->next_look() : std::nullopt;
  if (!next) return;
  timer_.set(*next, [this] {
    if (standstill_) look();
  });
}

void StandstillWatch::look() {
  const TimePoint now = Clock::now();
  // To tell of it may end the watch.
  if (const auto still = standstill_->on_look(all_still(now), now))
    on_standstill_({*still, doings_});
  if (standstill_) look_later();
}

// A rank that is new, or that another waits for, makes the job one that moves.
bool StandstillWatch::all_still(TimePoint now) {
  std::map<Rank, host::TreeSample> before = std::exchange(looks_, {});
  doings_.clear();
  bool still = !others_work(now);
  const host::SocketTraffic traffic = host::socket_traffic();
  for (const auto& [rank, state] : ranks_) {
    if (!state.alive()) continue;
    if (waits_in_a_stage(state) || state.awaits_person()) return false;
    if (!state.process()->is_here()) return false;  // only its own node could compare its looks
    host::TreeSample& seen = looks_[rank] = host::sample_tree(*state.process(), now, table_);
    host::add_traffic(seen, traffic);
    const auto known = before.find(rank);
    const auto stands =
        known == before.end() ? std::nullopt : host::stood_still(known->second, seen);
    still = still && stands.has_value();
    if (stands) doings_[rank] = *stands;
  }
  return still && looks_.size() > 1;
}

// A daemon that no rank is above may build, or fetch, what they all wait for; so may a process that
// will only say later that it is a rank.
bool StandstillWatch::others_work(TimePoint now) {
  std::set<ProcessId> known;
  for (const auto& [rank, state] : ranks_)
    if (state.process()) known.insert(*state.process());
  const auto seen = others_.look_at_helpers(host::self(), known, now);
  return seen && seen->activity == Activity::working;
}

}  // namespace safelaunch::ranks
