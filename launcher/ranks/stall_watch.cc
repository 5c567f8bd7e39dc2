#include "safelaunch/ranks/stall_watch.h"

#include <algorithm>

#include "safelaunch/ranks/ranks_tell.h"

// The counters of the ranks' collectives say whether training moves. Each counts over all groups of
// a rank. Stall decides; here its questions are asked, the ranks are looked at, and its timer is
// set.
namespace safelaunch::ranks {
namespace {

bool is_alive(const std::pair<const Rank, watch::RankState>& rank) {
  return rank.second.alive();
}

// A process of the job may claim any world.
constexpr std::size_t kMostUnseen = 1'000;

// The ranks that meet know how many they are to be. One that has ended came to an earlier meeting.
watch::StallReport with_unseen(watch::StallReport report,
                               const std::map<Rank, watch::RankState>& ranks) {
  int world = 0;
  for (const Rank rank : report.meeting)
    if (const auto known = ranks.find(rank); known != ranks.end())
      world = std::max(world, known->second.claimed_world.value_or(0));
  const auto has_come = [&](Rank rank) {
    const auto known = ranks.find(rank);
    return (known != ranks.end() && known->second.alive()) ||
           std::ranges::find(report.lagging, rank) != report.lagging.end();
  };
  for (int rank = 0; rank < world && report.lagging.size() < kMostUnseen; ++rank)
    if (!has_come(Rank{rank})) report.lagging.push_back(Rank{rank});
  return report;
}

}  // namespace

void StallWatch::begin(int ranks, watch::Stall::Waiting waiting) {
  if (timeout_.off()) return;
  stall_.emplace(timeout_, Clock::now(), ranks, waiting);
  rearm();
}

void StallWatch::end() {
  stall_.reset();
  timer_.cancel();
}

void StallWatch::saw_output() {
  if (stall_) stall_->on_output(Clock::now());  // the timer that runs comes early, and is set anew
}

void StallWatch::answered(Rank rank, const watch::CountersAnswer& answer) {
  if (!stall_) return;
  const RankCounted counted = counted_by(answer);
  stall_->on_counters(rank, counted.collectives, Clock::now(), counted.uncounted);
  rearm();
}

void StallWatch::answered(int seat, const NodeCounts& counts) {
  if (!stall_ || counts.question != questions_ || unanswered_.erase(seat) == 0) return;
  const TimePoint now = Clock::now();
  for (const auto& [rank, counted] : counts.ranks)
    stall_->on_counters(rank, counted.collectives, now, counted.uncounted);
  take({counts.activities, counts.others_work ? std::optional(Activity::working) : std::nullopt});
  if (counts.wrote) stall_->on_output(now);
  stall_->on_unanswered(unanswered_.size());
  rearm();
}

void StallWatch::rearm() {
  const auto next = stall_ ? stall_->next_deadline() : std::nullopt;
  if (!next) return void(timer_.cancel());
  timer_.set(*next, [this] { tick(); });
}

void StallWatch::take(const TrainingLook::Seen& seen) {
  const TimePoint now = Clock::now();
  for (const auto& [rank, activity] : seen.ranks)
    if (activity != Activity::unseen) stall_->on_activity(rank, activity, now);
  if (seen.others) stall_->on_others(*seen.others, now);
}

// A node without live ranks answers nothing.
void StallWatch::ask() {
  unanswered_.clear();
  for (const auto& [rank, state] : ranks_)
    if (state.alive() && !state.process()->is_here()) unanswered_.insert(state.process()->node);
  stall_->on_unanswered(unanswered_.size());
  ask_(++questions_);
}

// A launcher may need its time to end once all ranks are through. One that goes on after the end of
// ranks that were not through is a server without its workers.
void StallWatch::look_for_ends() {
  std::set<Rank> lost;
  const bool all_have_ended = !ranks_.empty() && std::ranges::none_of(ranks_, is_alive);
  if (all_have_ended)
    for (const auto& [rank, state] : ranks_)
      if (state.ended() && !finished_.contains(rank) && (!state.status() || state.failed()))
        lost.insert(rank);
  if (all_have_ended && lost.empty()) stall_->rested(Clock::now());
  stall_->on_lost(std::move(lost));
}

void StallWatch::tick() {
  if (!stall_) return;
  const TimePoint now = Clock::now();
  const TrainingLook::Seen seen = look_.look(ranks_, now);
  take(seen);
  stall_->on_readers(seen.readers);
  look_for_ends();
  if (const auto action = stall_->tick(Clock::now())) {
    if (const auto* report = std::get_if<watch::StallReport>(&*action))
      tell_(TrainingStalled{with_unseen(*report, ranks_)});
    else if (const auto* over = std::get_if<watch::StallOver>(&*action))
      tell_(TrainingMoves{over->stood});
    else
      ask();
  }
  rearm();
}

}  // namespace safelaunch::ranks
