#include "safelaunch/watch/stages.h"

#include <algorithm>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"

// Events only change what is known of ranks. Then the standings are taken stock of, and the checks
// run from the surest to the weakest: contradictions and deaths at the event itself, what no
// waiting can change at each event, what is overdue at a tick only. The first verdict stands.
// stage_clocks.cc decides who waits for whom, and until when.
namespace safelaunch::watch {
namespace {

// For ranks whose collectives are not seen: with lazy connections NCCL still connects, and may
// fail, in the first collective, which comes right behind the communicator in most programs.
constexpr Duration kConnectsWithin{10'000};

// If the call of the first collective would be seen, or that a server answers, we wait for it; but
// not for ever.
constexpr Duration kStartsWithin = std::chrono::minutes(30);

Stage after(Stage stage) {
  return static_cast<Stage>(std::min(static_cast<int>(stage) + 1, kStageCount - 1));
}

RankEvidence evidence_of(Source source) {
  switch (source) {
    case Source::hook: return RankEvidence::hook;
    case Source::plugin:
    case Source::nccl_log: return RankEvidence::nccl;
    case Source::proc:
    case Source::launch: return RankEvidence::process;
  }
  return RankEvidence::process;
}

// The stage in which ranks contradict each other so.
Stage stage_of(FailureKind kind) {
  if (kind == FailureKind::not_started) return Stage::spawned;
  return kind == FailureKind::different_stores ? Stage::rendezvous : Stage::communicator;
}

// A group of some ranks, or of all once more. NCCL's log tells of no such group.
bool makes_a_group(const StageEntered& event) {
  return event.source == Source::hook && event.stage == Stage::communicator &&
         !event.detail.empty();
}

bool is_sample(const Event& event) {
  return std::holds_alternative<RankActivity>(event);
}

}  // namespace

Stages::Stages(StagesConfig config) : config_(std::move(config)) {
  for (const Rank rank : config_.expected_here) ranks_.try_emplace(rank);
  take_stock();
}

std::vector<StageAction> Stages::on(const Event& event, TimePoint monotonic) {
  return on(std::span(&event, 1), monotonic);
}

std::vector<StageAction> Stages::on(std::span<const Event> events, TimePoint monotonic) {
  const TimePoint now = job_time(monotonic);
  for (const Event& event : events) std::visit([&](const auto& one) { apply(one, now); }, event);
  // A sample changes nothing by itself: the tick that follows the samples of all ranks weighs them.
  if (std::ranges::all_of(events, is_sample)) return {};
  take_stock();
  for (const Event& event : events) {
    if (const auto* entered = std::get_if<StageEntered>(&event))
      check_contradictions(entered->rank);
    if (const auto* exited = std::get_if<RankExited>(&event)) check_failure(*exited, now);
  }
  check_training(now);
  check_certain(now);
  // Where nobody waited, the next tick may be half an hour away.
  const bool waits = !standings_.empty();
  if (!due_ || (waits && *due_ > monotonic + config_.look_every)) due_ = monotonic;
  return finish(monotonic);
}

std::vector<StageAction> Stages::tick(TimePoint monotonic) {
  const TimePoint now = job_time(monotonic);
  check_training(now);
  check_certain(now);
  check_overdue(now);
  due_ = monotonic + config_.look_every;
  return finish(monotonic);
}

std::vector<StageAction> Stages::contradict(FailureKind kind, std::string text, TimePoint monotonic,
                                            Certainty certainty) {
  const TimePoint now = job_time(monotonic);
  // A launcher that restarts ranks may show us the new ones before the old ones' end.
  if (config_.dead_rank != DeadRank::is_restarted)
    decide({.kind = kind,
            .certainty = certainty,
            .stage = stage_of(kind),
            .waiting = all_waiting(),
            .proof = std::move(text)});
  check_training(now);
  return finish(monotonic);
}

std::vector<StageAction> Stages::driver_is_silent(std::vector<Rank> ranks, std::string text,
                                                  TimePoint monotonic) {
  (void)job_time(monotonic);
  decide({.kind = FailureKind::driver_silent,
          .certainty = Certainty::confirmed,
          .stage = Stage::imported,
          .waiting = std::move(ranks),
          .proof = std::move(text)});
  return finish(monotonic);
}

// A job that has trained with some of its ranks has begun, and may rest as it likes.
std::vector<StageAction> Stages::stood_still(Duration lasts,
                                             const std::map<Rank, std::string>& doings,
                                             std::string text, TimePoint monotonic) {
  (void)job_time(monotonic);
  if (may_have_trained() || !standings_.empty() || config_.judged_elsewhere)
    return finish(monotonic);
  Failure verdict{
      .kind = FailureKind::stood_still, .stage = Stage::collective, .proof = std::move(text)};
  for (const auto& [rank, doing] : doings) {
    const RankState& state = state_of(rank);
    verdict.missing.push_back({.rank = rank,
                               .activity = Activity::idling,
                               .doing = doing,
                               .known = state.process().has_value()});
    verdict.waited = lasts;
    verdict.stage = std::min(verdict.stage.value_or(Stage::collective), after(state.furthest()));
  }
  decide(std::move(verdict));
  return finish(monotonic);
}

// A training may have a server too: for figures, for the engines of its rollouts.
std::vector<StageAction> Stages::server_is_up(TimePoint monotonic) {
  is_up_ = config_.serves;
  check_training(job_time(monotonic));
  return finish(monotonic);
}

// Time stands still while somebody has stopped all ranks: nobody can come meanwhile.
TimePoint Stages::job_time(TimePoint monotonic) {
  const TimePoint now = clock_.at(monotonic);
  if (suspended(now)) return clock_.read_frozen(monotonic);
  return clock_.read(monotonic, due_);
}

std::vector<StageAction> Stages::finish(TimePoint monotonic) {
  const TimePoint now = clock_.at(monotonic);
  if (const auto deadline = earliest_deadline(now); deadline && due_)
    due_ = std::min(*due_, std::max(monotonic, clock_.monotonic(*deadline)));
  // Nobody waits, so time alone can bring nothing but that the job counts as training.
  if (standings_.empty()) {
    const auto trains = trains_at();
    due_ = trains ? std::optional(clock_.monotonic(*trains)) : std::nullopt;
  }
  if (training_ || verdict_) due_.reset();
  std::string status = counts_text() + waiting_text(now, Wording::brief);
  if (status != status_) {
    status_ = std::move(status);
    actions_.emplace_back(StatusChanged{counts_text() + waiting_text(now, Wording::full)});
  }
  return std::exchange(actions_, {});
}

std::optional<TimePoint> Stages::earliest_deadline(TimePoint now) const {
  std::optional<TimePoint> earliest;
  if (config_.judged_elsewhere) return earliest;
  for (const Standing& standing : standings_)
    for (const auto at : {certain_at(standing, now), overdue_at(standing, now)})
      if (at && (!earliest || *at < *earliest)) earliest = at;
  return earliest;
}

// ---- what an event changes ----------------------------------------------------------------------

bool Stages::all_heard() const {
  for (int i = 0; i < world_size(); ++i)
    if (const RankState& state = state_of(Rank{i}); state.blind() && !state.ended()) return false;
  return world_size() > 0;
}

void Stages::apply(const RankStarted& event, TimePoint now) {
  if (event.wrapper)
    (void)claim(event.rank, *event.wrapper, Source::launch, RankEvidence::process, now);
  if (const auto present = rank_of(event.process); present && event.anew)
    if (RankState& older = ranks_[*present]; older.evidence() >= RankEvidence::hook)
      older.begin_anew();
  RankState* state = claim(event.rank, event.process, event.source, evidence_of(event.source), now);
  if (state == nullptr) return;
  if (event.world_size) state->announced_world = event.world_size;
  if (event.source == Source::plugin)
    state->plugin = std::max(state->plugin, RankState::Plugin::loaded);
}

void Stages::apply(const StageEntered& event, TimePoint now) {
  const bool meets_others = event.source == Source::hook && event.stage >= Stage::rendezvous;
  // The plugin says so only where it will tell of the end too.
  const bool follows = event.source == Source::plugin && event.stage == Stage::collective;
  const RankEvidence evidence = meets_others ? RankEvidence::entered
                                : follows    ? RankEvidence::hook
                                             : evidence_of(event.source);
  // A process is in one world at a time.
  if (meets_others && event.stage == Stage::group) elsewhere_.erase(event.process);
  RankState* state = claim(event.rank, event.process, event.source, evidence, now);
  const std::string& store = event.stage == Stage::rendezvous ? event.detail : event.meets;
  if (state != nullptr) {
    // The hook does not report an init_process_group that torch refuses because a group exists, so
    // this call joins a new world.
    if (event.source == Source::hook && event.stage == Stage::group && state->reached(Stage::group))
      state->join_anew();
    if (!state->entered(event.stage)) progress_ = now;
    // A retry after a failure is no arrival, because a rank may retry for ever.
    if (!state->tried(event.stage)) arrival_ = now;
    state->enter(event.stage, now);
    const bool starts = config_.serves ? !training_ : !state->reached(Stage::collective);
    if (makes_a_group(event) && starts) state->make_group(event.detail, event.awaits, now);
    if (event.world_size) state->claimed_world = event.world_size;
    if (!store.empty()) state->store = store;
  } else if (const auto other = elsewhere_.find(event.process);
             other != elsewhere_.end() && !store.empty()) {
    other->second.store = store;
  }
  if (!store.empty()) part_worlds();
}

void Stages::apply(const StageLeft& event, TimePoint now) {
  RankState* state = held_by(event.rank, event.process);
  if (state == nullptr) return;
  state->leave(event.stage, event.device_works);
  progress_ = now;
}

void Stages::apply(const RankPrepares& event, TimePoint) {
  if (RankState* state = held_by(event.rank, event.process)) state->prepare();
}

void Stages::apply(const RankSilent& event, TimePoint) {
  if (RankState* state = held_by(event.rank, event.process)) state->fall_silent();
}

void Stages::apply(const StageReached& event, TimePoint now) {
  RankState* state = claim(event.rank, event.process, event.source, evidence_of(event.source), now);
  if (const auto other = elsewhere_.find(event.process);
      other != elsewhere_.end() && event.stage == Stage::collective)
    other->second.through = true;
  if (state == nullptr) return;
  if (!state->reached(event.stage)) progress_ = arrival_ = now;
  if (event.source == Source::nccl_log && event.stage == Stage::communicator)
    state->reach_in_nccl(now);
  else
    state->reach(event.stage, now);
  if (event.source == Source::plugin) state->plugin = RankState::Plugin::saw_call;
}

void Stages::apply(const RankRaised& event, TimePoint now) {
  RankState* state = held_by(event.rank, event.process);
  if (state == nullptr) return;
  state->raise(event);
  progress_ = now;
}

void Stages::apply(const RankExited& event, TimePoint now) {
  elsewhere_.erase(event.process);
  const auto found = ranks_.find(event.rank);
  if (found != ranks_.end()) found->second.exit(event.process, event.status, now);
}

void Stages::apply(const RankActivity& event, TimePoint now) {
  const auto found = ranks_.find(event.rank);
  if (found == ranks_.end() || !found->second.alive()) return;
  found->second.sample(event.activity, event.doing, now, config_.look_every);
  found->second.note_awaits_local(event.awaits_local);
}

void Stages::apply(const RankAttended& event, TimePoint now) {
  if (RankState* state = held_by(event.rank, event.process)) state->await_person(event.doing, now);
}

// ---- what follows from it -----------------------------------------------------------------------

// The first verdict stands, since the later ones are its consequences. A world of one waits for
// nobody, so its end is the command's own.
void Stages::decide(Failure verdict) {
  if (verdict_ || training_) return;
  if (world_size() < 2 && verdict.kind != FailureKind::not_started) return;
  verdict_ = verdict;
  actions_.emplace_back(std::move(verdict));
}

void Stages::check_contradictions(Rank rank) {
  check_given_twice(rank);
  check_world_sizes(rank);
}

void Stages::check_given_twice(Rank rank) {
  // A launcher that restarts ranks may show us the new one before the old one's end.
  const RankState& state = state_of(rank);
  if (!state.alive() || state.store.empty() || config_.dead_rank == DeadRank::is_restarted) return;
  const auto twin = std::ranges::find_if(elsewhere_, [&](const auto& one) {
    return one.second.rank == rank && one.second.store == state.store;
  });
  if (twin == elsewhere_.end()) return;
  Failure verdict{.kind = FailureKind::duplicate_rank,
                  .certainty = Certainty::confirmed,
                  .stage = Stage::rendezvous,
                  .waiting = all_waiting()};
  std::erase(verdict.waiting, rank);
  verdict.missing = {{.rank = rank, .inside = true}, {.rank = rank, .inside = true}};
  verdict.proof =
      fmt::format("two processes have rank {}: pid {} and pid {} both came to {} with it",
                  rank.value, state.process()->pid, twin->first.pid, state.store);
  decide(std::move(verdict));
}

void Stages::check_world_sizes(Rank rank) {
  const RankState& mine = state_of(rank);
  if (!mine.claimed_world || mine.store.empty()) return;
  for (const auto& [other_rank, other] : ranks_) {
    // A rank that meets at another store is another job's, and may have a world of its own.
    if (!other.alive() || !other.claimed_world || other.store != mine.store) continue;
    if (*other.claimed_world == *mine.claimed_world) continue;
    Failure verdict{.kind = FailureKind::world_size_mismatch,
                    .certainty = Certainty::confirmed,
                    .stage = Stage::rendezvous,
                    .waiting = all_waiting()};
    verdict.proof =
        fmt::format("WORLD_SIZE differs between the ranks: rank {} says {}, rank {} says {}",
                    other_rank.value, *other.claimed_world, rank.value, *mine.claimed_world);
    return decide(std::move(verdict));
  }
}

void Stages::check_failure(const RankExited& event, TimePoint now) {
  const RankState& state = state_of(event.rank);
  if (!state.failed() || state.process() != event.process) return;
  if (config_.dead_rank != DeadRank::ends_the_job) return;
  // Where `communicator` comes before `group`, the furthest stage would name the wrong place for a
  // death inside NCCL's init.
  const bool in_nccl = state.entered(Stage::communicator) && !state.reached(Stage::communicator);
  const bool in_collective = state.entered(Stage::collective) && !state.reached(Stage::collective);
  const Stage stage = in_nccl         ? Stage::communicator
                      : in_collective ? Stage::collective
                                      : after(state.furthest());
  const Standing alone{.stage = stage, .since = now, .missing = {event.rank}};
  decide(judge(alone, now));
}

void Stages::check_certain(TimePoint now) {
  if (config_.judged_elsewhere) return;
  for (const Standing& standing : standings_) {
    const auto at = certain_at(standing, now);
    if (at && *at <= now) return decide(judge(standing, now));
  }
}

void Stages::check_overdue(TimePoint now) {
  if (config_.judged_elsewhere) return;
  // If several stages are overdue, the verdict takes the one that blames a rank; among those, the
  // one in which most ranks wait.
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

std::optional<TimePoint> Stages::trains_at() const {
  if (is_up_) return progress_;
  if (world_size() == 0) return std::nullopt;
  // A second world may wait still.
  if (std::ranges::any_of(elsewhere_, [](const auto& one) { return !one.second.through; }))
    return std::nullopt;
  Duration wait = config_.serves ? kStartsWithin : Duration::zero();
  for (int i = 0; i < world_size(); ++i) {
    const RankState& state = state_of(Rank{i});
    if (state.reached(Stage::collective)) continue;
    if (!state.blind()) return std::nullopt;
    if (state.reached(Stage::group)) continue;
    if (!state.reached(Stage::communicator)) return std::nullopt;
    // The plugin sees no send or receive: a job of those alone trains all the same.
    const bool call_comes = state.plugin == RankState::Plugin::loaded;
    wait = std::max(wait, call_comes ? kStartsWithin : kConnectsWithin);
  }
  return progress_ + wait;
}

bool Stages::may_have_trained() const {
  if (config_.serves) return is_up_;
  bool some_through = false;
  for (const auto& [rank, state] : ranks_) {
    if (state.tried(Stage::collective) && !state.had_collective()) return false;
    some_through = some_through || state.had_collective();
  }
  return some_through;
}

void Stages::check_training(TimePoint now) {
  if (training_ || verdict_) return;
  const auto at = trains_at();
  if (!at || *at > now) return;
  training_ = true;
  actions_.emplace_back(JobTraining{});
}

}  // namespace safelaunch::watch
