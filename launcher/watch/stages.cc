#include "safelaunch/watch/stages.h"

#include <algorithm>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/watch/rank_list.h"

namespace safelaunch {
namespace {

RankEvidence evidence_of(Source source) {
  return source == Source::hook ? RankEvidence::hook : RankEvidence::process;
}

}  // namespace

Stages::Stages(StagesConfig config) : config_(std::move(config)) {
  for (const Rank rank : config_.expected_here) ranks_.try_emplace(rank);
  take_stock();
}

std::vector<StageAction> Stages::on(const Event& event, TimePoint monotonic) {
  const TimePoint now = job_time(monotonic);
  std::visit([&](const auto& one) { apply(one, now); }, event);
  // A sample changes nothing by itself: the tick that follows the samples of all ranks weighs them.
  if (std::holds_alternative<RankActivity>(event)) return {};
  take_stock();
  if (const auto* entered = std::get_if<StageEntered>(&event)) check_contradictions(entered->rank);
  if (const auto* exited = std::get_if<RankExited>(&event)) check_failure(*exited, now);
  check_training();
  check_certain(now);
  if (!due_) due_ = monotonic;
  return finish(monotonic);
}

std::vector<StageAction> Stages::tick(TimePoint monotonic) {
  const TimePoint now = job_time(monotonic);
  check_certain(now);
  check_overdue(now);
  due_ = monotonic + config_.look_every;
  return finish(monotonic);
}

TimePoint Stages::job_time(TimePoint monotonic) {
  if (suspended(clock_.at(monotonic))) return clock_.read_frozen(monotonic);
  return clock_.read(monotonic, due_);
}

std::vector<StageAction> Stages::finish(TimePoint monotonic) {
  const TimePoint now = clock_.at(monotonic);
  if (const auto deadline = earliest_deadline(now))
    due_ = std::min(*due_, std::max(monotonic, clock_.monotonic(*deadline)));
  if (training_ || verdict_ || standings_.empty()) due_.reset();
  std::string status = counts_text() + waiting_text(now, Wording::brief);
  if (status != status_) {
    status_ = std::move(status);
    actions_.emplace_back(StatusChanged{counts_text() + waiting_text(now, Wording::full)});
  }
  return std::exchange(actions_, {});
}

std::optional<TimePoint> Stages::earliest_deadline(TimePoint now) const {
  std::optional<TimePoint> earliest;
  for (const Standing& standing : standings_)
    for (const auto at : {certain_at(standing, now), overdue_at(standing, now)})
      if (at && (!earliest || *at < *earliest)) earliest = at;
  return earliest;
}

// ---- what an event changes ----------------------------------------------------------------------

RankState* Stages::claim(Rank rank, ProcessId process, Source source, RankEvidence evidence) {
  RankState& state = ranks_[rank];
  // What /proc lets us guess is nothing beside what the hook says.
  if (source == Source::proc && !state.blind()) return nullptr;
  switch (state.claim(process, evidence)) {
    case RankClaim::held:
    case RankClaim::taken: return &state;
    case RankClaim::contested: state.twin = {.process = process, .store = {}}; return nullptr;
    case RankClaim::ignored: return nullptr;
  }
  return nullptr;
}

void Stages::apply(const RankStarted& event, TimePoint) {
  RankState* state = claim(event.rank, event.process, event.source, evidence_of(event.source));
  if (state != nullptr && event.world_size) state->announced_world = event.world_size;
}

void Stages::apply(const StageEntered& event, TimePoint now) {
  const bool meets_others = event.source == Source::hook && event.stage >= Stage::rendezvous;
  const RankEvidence evidence = meets_others ? RankEvidence::entered : evidence_of(event.source);
  RankState* state = claim(event.rank, event.process, event.source, evidence);
  std::optional<RankState::Twin>& twin = ranks_[event.rank].twin;
  if (state != nullptr) {
    if (!state->entered(event.stage)) progress_ = now;
    state->enter(event.stage, now);
    if (event.world_size) state->claimed_world = event.world_size;
    if (event.stage == Stage::rendezvous) state->store = event.detail;
  } else if (twin && twin->process == event.process && event.stage == Stage::rendezvous) {
    twin->store = event.detail;
  }
}

void Stages::apply(const StageReached& event, TimePoint now) {
  RankState* state = claim(event.rank, event.process, event.source, evidence_of(event.source));
  if (state == nullptr) return;
  if (!state->reached(event.stage)) progress_ = now;
  state->reach(event.stage, now);
}

void Stages::apply(const RankRaised& event, TimePoint now) {
  const auto found = ranks_.find(event.rank);
  if (found == ranks_.end() || found->second.process() != event.process) return;
  found->second.raise(event);
  progress_ = now;
}

void Stages::apply(const RankExited& event, TimePoint now) {
  const auto found = ranks_.find(event.rank);
  if (found != ranks_.end()) found->second.exit(event.process, event.status, now);
}

void Stages::apply(const RankActivity& event, TimePoint now) {
  const auto found = ranks_.find(event.rank);
  if (found == ranks_.end() || !found->second.alive()) return;
  found->second.sample(event.activity, event.doing, now, config_.look_every);
}

// ---- what follows from it -----------------------------------------------------------------------

void Stages::decide(Verdict verdict) {
  if (verdict_ || training_ || world_size() < 2) return;
  verdict_ = verdict;
  actions_.emplace_back(std::move(verdict));
}

void Stages::check_contradictions(Rank rank) {
  check_twin(rank);
  check_world_sizes(rank);
}

void Stages::check_twin(Rank rank) {
  // A child of the rank may well run a group of its own, at another store, under an inherited RANK;
  // and a launcher that restarts ranks may show us the new one before the old one's end.
  const RankState& state = state_of(rank);
  if (!state.twin || state.store.empty() || state.twin->store != state.store) return;
  if (config_.dead_rank == DeadRank::is_restarted) return;
  Verdict verdict{.kind = Verdict::Kind::duplicate_rank,
                  .certainty = Verdict::Certainty::certain,
                  .stage = Stage::rendezvous,
                  .waiting = all_waiting()};
  std::erase(verdict.waiting, rank);
  verdict.suspects = {{.rank = rank, .process = state.process(), .inside = true},
                      {.rank = rank, .process = state.twin->process, .inside = true}};
  verdict.texts = {fmt::format("rank {} was given twice: pid {} and pid {} both came as it to {}",
                               rank.value, state.process()->pid, state.twin->process.pid,
                               state.store)};
  decide(std::move(verdict));
}

void Stages::check_world_sizes(Rank rank) {
  const RankState& mine = state_of(rank);
  if (!mine.claimed_world || mine.store.empty()) return;
  for (const auto& [other_rank, other] : ranks_) {
    // Who meets elsewhere is another job's, and may have a world of its own.
    if (!other.alive() || !other.claimed_world || other.store != mine.store) continue;
    if (*other.claimed_world == *mine.claimed_world) continue;
    Verdict verdict{.kind = Verdict::Kind::world_size_mismatch,
                    .certainty = Verdict::Certainty::certain,
                    .stage = Stage::rendezvous,
                    .waiting = all_waiting()};
    verdict.texts = {
        fmt::format("WORLD_SIZE differs between the ranks: rank {} says {}, rank {} says {}",
                    other_rank.value, *other.claimed_world, rank.value, *mine.claimed_world)};
    return decide(std::move(verdict));
  }
}

void Stages::check_failure(const RankExited& event, TimePoint now) {
  const RankState& state = state_of(event.rank);
  if (!state.failed() || state.process() != event.process) return;
  if (!first_failure_) first_failure_ = event;
  if (config_.dead_rank != DeadRank::ends_the_job) return;
  const int next = std::min(static_cast<int>(state.furthest()) + 1, kStageCount - 1);
  const Standing alone{.stage = static_cast<Stage>(next), .since = now, .missing = {event.rank}};
  decide(judge(alone, now));
}

void Stages::check_certain(TimePoint now) {
  for (const Standing& standing : standings_) {
    const auto at = certain_at(standing, now);
    if (at && *at <= now) return decide(judge(standing, now));
  }
}

void Stages::check_overdue(TimePoint now) {
  // Of several stages, the one that names somebody and lets most ranks wait.
  std::optional<Standing> worst;
  const auto weight = [&](const Standing& standing) {
    return std::pair(!suspects(standing, now).empty(), standing.waiting.size());
  };
  for (const Standing& standing : standings_) {
    const auto at = overdue_at(standing, now);
    if (at && *at <= now && (!worst || weight(standing) >= weight(*worst))) worst = standing;
  }
  if (worst) decide(judge(*worst, now));
}

void Stages::check_training() {
  if (training_ || verdict_) return;
  JobTraining news;
  for (int i = 0; i < world_size(); ++i) {
    const RankState& state = state_of(Rank{i});
    if (state.reached(Stage::collective)) continue;
    if (!state.blind() || !state.reached(Stage::group)) return;
    news.source = Source::proc;
  }
  if (world_size() == 0) return;
  training_ = true;
  actions_.emplace_back(news);
}

}  // namespace safelaunch
