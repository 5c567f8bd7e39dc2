// RankWatch: what comes from the hooks, from NCCL, from /proc, and the ends of ranks.
#include <unistd.h>

#include "nccl_rank.h"
#include "other_user.h"
#include "rank_watch_state.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/clean/removal.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/watch/packet_budget.h"

namespace safelaunch::run {
namespace {

// A job that has shown no rank for long shows none in the next moment: one eighth of its age later
// is soon enough, and a job that never shows any costs nothing in the end.
constexpr int kOneLookIn = 8;

// cuInit takes ten seconds and more where eight GPUs have to be woken.
constexpr Duration kDriverAnswersWithin{30'000};

// A hook answers within a second, or not at all.
constexpr Duration kAnswersWithin{2'000};

// Where torch waits until another process has built an extension.
constexpr const char* kWaitsForBuild = "file_baton.py";

// A launcher may start it again, and a script another program as the same rank.
std::optional<Rank> rank_that_begins(const Event& event) {
  if (const auto* started = std::get_if<RankStarted>(&event)) return started->rank;
  if (const auto* entered = std::get_if<StageEntered>(&event)) return entered->rank;
  return std::nullopt;
}

}  // namespace

void RankWatch::State::open_channel() {
  if (!config.hook) return;
  watch::HookChannel::Listener listener;
  listener.on_message = [this](ProcessId process, const watch::HookMessage& message) {
    hear(process, message);
  };
  // An end is seen by its pidfd; a process that is still there at the next look has closed it.
  listener.on_closed = [this](ProcessId process) {
    if (hooked.contains(process)) silent.insert(process);
    look_again();
  };
  listener.on_flood = [this](ProcessId process) { tell_flood(process); };
  auto opened = watch::HookChannel::open(services.io, config.hook->socket, config.hook->token,
                                         std::move(listener));
  // Without it the ranks are watched from /proc alone, as with --no-hook.
  if (!opened) return log_warning(opened.error().message);
  channel = std::move(*opened);
}

void RankWatch::State::tell_flood(ProcessId process) {
  const auto rank = hooked.find(process);
  const std::string who = rank == hooked.end()
                              ? fmt::format("pid {}", process.pid)
                              : fmt::format("rank {} (pid {})", rank->second.value, process.pid);
  const std::string text = fmt::format(
      "{} tells more than {} things a second: of the rest safelaunch hears only the last ones", who,
      watch::PacketBudget::kASecond);
  services.log.record_some(report::record::Notice{text});
  if (!frozen && !std::exchange(flood_told, true)) caller.on_notice(text);
}

NcclWatch::Observer RankWatch::State::nccl_observer() {
  NcclWatch::Observer listener;
  listener.whose = [this](const nccl::ProcessName& who, const std::optional<nccl::Part>& part) {
    return rank_of(who, part, {hooked, plugged, stages, config.nccl.variable});
  };
  listener.world_size = [this] { return stages.world_size(); };
  listener.on_event = [this](const Event& event) {
    if (!judging()) return;
    if (const auto* started = std::get_if<RankStarted>(&event))
      if (started->process.start_ticks != 0) watch_exit(started->rank, started->process);
    if (const auto* reached = std::get_if<StageReached>(&event)) record_stage(*reached);
    feed(event);
  };
  listener.on_contradiction = [this](const nccl::Contradiction& found) {
    if (frozen) return;
    const bool twice = found.about == nccl::RootComplaint::About::rank_twice;
    act_on(stages.contradict(twice ? FailureKind::duplicate_rank : FailureKind::world_size_mismatch,
                             found.text, Clock::now()));
  };
  listener.on_said = [this](std::optional<Rank> rank, const nccl::Said& said) {
    if (!frozen) caller.on_nccl_said(rank, said);
  };
  return listener;
}

DriverWatch::Limits RankWatch::State::driver_limits() const {
  return {config.stages.limits.quiet, std::min(config.stages.limits.init, kDriverAnswersWithin)};
}

DriverWatch::OnSilent RankWatch::State::driver_is_silent() {
  return [this](std::vector<Rank> ranks, const std::string& text) {
    if (judging()) act_on(stages.driver_is_silent(std::move(ranks), text, Clock::now()));
  };
}

StandstillWatch::OnStill RankWatch::State::all_stand_still() {
  return [this](const watch::StoodStill& still, std::map<Rank, std::string> doings) {
    if (!judging()) return;
    places.begin(
        stages.ranks(), {}, kAnswersWithin,
        [this](ProcessId process, watch::HookQuestion question) {
          return question == watch::HookQuestion::stack && channel &&
                 channel->ask(process, question, 0);
        },
        [this, still, told = std::move(doings)](const RankAnswers& answers) {
          if (judging()) tell_standstill(still, told, answers);
        });
  };
}

// A program may well wait for hours for what nobody here can see: it is ended for it only where
// somebody has set a limit, and nothing could be removed that it waits for.
void RankWatch::State::tell_standstill(const watch::StoodStill& still,
                                       const std::map<Rank, std::string>& doings,
                                       const RankAnswers& answers) {
  std::vector<watch::RankPlace> found;
  bool at_a_lock = false;
  for (const auto& [rank, doing] : doings) {
    const auto answer = answers.stacks.find(rank);
    const StackSeen stack = answer == answers.stacks.end() ? StackSeen{} : answer->second;
    at_a_lock = at_a_lock || stack.frames.find(kWaitsForBuild) != std::string::npos;
    found.push_back({rank, stack.where, doing});
  }
  std::string text = watch::describe_standstill(still.lasts, found);
  const WaitedLocks locks =
      at_a_lock ? find_waited_locks(config.environment, config.clean) : WaitedLocks{};
  if (!locks.words.empty()) text += "; " + locks.words;
  if (still.then == watch::StoodStill::Then::ends_the_job && locks.left.empty())
    return act_on(stages.stood_still(still.lasts, doings, text, Clock::now()));
  services.log.record(report::record::Status{stages.counts_text() + " · " + text});
  caller.on_notice(text);
  for (const clean::Removal& removal : clean::remove({{}, locks.left}, config.clean)) {
    tell(describe(removal));
    const auto* lock = std::get_if<clean::StaleFile>(&removal.what);
    const bool removed = lock != nullptr && !host::file_at(lock->file.path);
    if (removed && !has_built_extension(lock->file.path))
      tell(
          fmt::format("the build behind {} was cut off and has left no library: a rank that waited "
                      "for it may fail with ImportError now; start the job again, and it is built",
                      lock->file.path));
  }
}

void RankWatch::State::tell(const std::string& text) {
  services.log.record(report::record::Notice{text});
  caller.on_notice(text);
}

// Hook, log and plugin may tell the same.
void RankWatch::State::record_stage(const StageReached& reached) {
  const auto known = stages.ranks().find(reached.rank);
  if (known != stages.ranks().end() && known->second.reached(reached.stage)) return;
  services.log.record(
      report::record::Stage{reached.rank.value, name(reached.stage), reached.process.pid});
}

void RankWatch::State::hear(ProcessId process, const watch::HookMessage& message) {
  note_finished(process, message);
  if (frozen || (message.rank && !named.accept(process, *message.rank))) return;
  const bool by_plugin = message.source == Source::plugin;
  if (message.rank) (by_plugin ? plugged : hooked)[process] = *message.rank;
  if (!by_plugin) silent.erase(process);
  // Where the hook watches the collectives, its word counts: the plugin's event passes too when a
  // communicator is aborted.
  if (by_plugin && in_torch.contains(process)) return;
  for (Event event : message.events) {
    note_what_it_names(event);
    if (const auto* reached = std::get_if<StageReached>(&event)) record_stage(*reached);
    if (const auto* raised = std::get_if<RankRaised>(&event)) note_raised(seen.raised, *raised);
    if (const auto rank = rank_that_begins(event)) seen.finished.erase(*rank);
    if (auto* started = std::get_if<RankStarted>(&event)) {
      if (started->anew) find_wrapper(*started, message);
      if (started->wrapper) watch_exit(started->rank, *started->wrapper);
      watch_exit(started->rank, process);
    }
    if (const auto* entered = std::get_if<StageEntered>(&event)) {
      watch_exit(entered->rank, process);
      if (!by_plugin) in_torch.insert(process);
      if (is_a_ranks_child(entered->rank, process)) continue;
    }
    feed(event);
  }
  hear_body(process, message);
}

// Whoever speaks first may be a helper of the shell that is the rank.
void RankWatch::State::find_wrapper(RankStarted& started, const watch::HookMessage& message) const {
  const watch::RankIdentity identity{started.rank, message.world_size, message.local_rank};
  const auto parent = parents.find(started.process);
  const auto topmost = watch::topmost_of_rank(
      watch::line_of({started.process, identity}, parent == parents.end() ? 0 : parent->second,
                     host::self(), table));
  if (topmost && *topmost != started.process) started.wrapper = topmost;
}

// What a rank starts has inherited its RANK, and may meet whom it likes, even at the same store.
bool RankWatch::State::is_a_ranks_child(Rank rank, ProcessId process) const {
  const auto known = stages.ranks().find(rank);
  if (known == stages.ranks().end()) return false;
  const watch::RankState& state = known->second;
  if (!state.alive() || state.process() == process || !state.entered(Stage::rendezvous))
    return false;
  const std::vector<int> ancestors = host::ancestors_of(process.pid);
  return std::ranges::find(ancestors, state.process()->pid) != ancestors.end();
}

// Also while the job is stopped: a rank that ends in order then has lost nothing.
void RankWatch::State::note_finished(ProcessId process, const watch::HookMessage& message) {
  if (std::holds_alternative<watch::HookException>(message.body)) failing.insert(process);
  if (message.name != "exit" || message.source != Source::hook) return;
  const auto rank = stages.rank_of(process);
  if (rank && !failing.contains(process)) seen.finished.insert(*rank);
}

// Its store, and its backend.
void RankWatch::State::note_what_it_names(const Event& event) {
  const auto* entered = std::get_if<StageEntered>(&event);
  if (entered != nullptr && entered->stage == Stage::rendezvous)
    seen.stores[entered->rank] = seen.knocking[entered->rank] = entered->detail;
  if (entered != nullptr && entered->stage == Stage::group && entered->source == Source::hook)
    seen.backends.insert(entered->detail);
  const auto* reached = std::get_if<StageReached>(&event);
  if (reached != nullptr && reached->stage == Stage::rendezvous) seen.knocking.erase(reached->rank);
}

void RankWatch::State::hear_body(ProcessId process, const watch::HookMessage& message) {
  // In another pid namespace its parent's number means another process.
  const auto* hello = std::get_if<watch::HookHello>(&message.body);
  if (hello != nullptr && hello->pid == process.pid) parents[process] = hello->parent;
  if (const auto* answer = std::get_if<watch::StackAnswer>(&message.body)) {
    inquiry.answered(process, *answer);
    places.answered(process, *answer);
  } else if (const auto* collectives = std::get_if<watch::CollectivesAnswer>(&message.body)) {
    inquiry.answered(process, *collectives);
  } else if (const auto* counters = std::get_if<watch::CountersAnswer>(&message.body)) {
    inquiry.answered(process, *counters);
    if (message.rank) stall.answered(*message.rank, *counters);
  } else if (const auto* refusal = std::get_if<watch::HookRefusal>(&message.body)) {
    caller.on_notice(fmt::format("{} is refused: {}", refusal->what, refusal->why));
  } else if (const auto* fault = std::get_if<watch::HookFault>(&message.body)) {
    services.log.record_some(report::record::HookError{fault->where, fault->error});
  }
}

// Of a process that we spawned we are told the end; others are watched by a pidfd.
void RankWatch::State::watch_exit(Rank rank, ProcessId process) {
  for (const ProcessId ended : std::exchange(told_exits, {})) exits.erase(ended);
  if (spawned.contains(process) || exits.contains(process)) return;
  exits.emplace(process, launch::ExitWatch(services.io, process,
                                           [this, rank, process](std::optional<ExitStatus> status) {
                                             on_exit(rank, process, status);
                                           }));
}

void RankWatch::State::on_exit(Rank as_started, ProcessId process,
                               std::optional<ExitStatus> status) {
  const Rank rank = stages.rank_of(process).value_or(as_started);  // its script may choose another
  if (frozen) return on_late_exit(rank, process, status);
  // Its last words come before its end.
  nccl.read_now();
  if (channel) channel->drain(process);
  const bool was_rank = is_rank(rank, process);
  feed(RankExited{rank, process, status});
  // Where a wrapper goes on it was a helper's end, and the wrapper is the rank's process again.
  if (was_rank && is_rank(rank, process)) seen.exits.push_back({rank, process, status});
  told_exits.push_back(process);
  silent.erase(process);
  look_again();
}

void RankWatch::State::on_late_exit(Rank rank, ProcessId process,
                                    std::optional<ExitStatus> status) {
  if (!is_rank(rank, process) || !ended_late.insert(process).second) return;
  seen.late_exits.push_back({rank, process, status});
  if (all_ranks_have_gone()) caller.on_ranks_gone();
}

bool RankWatch::State::is_rank(Rank rank, ProcessId process) const {
  const auto known = stages.ranks().find(rank);
  return known != stages.ranks().end() && known->second.process() == process;
}

// A process in which no hook has spoken may be a wrapper, whose rank is below it and still saves.
bool RankWatch::State::all_ranks_have_gone() const {
  return std::ranges::all_of(stages.ranks(), [this](const auto& one) {
    const watch::RankState& state = one.second;
    if (!state.known()) return !spawned.empty();  // of another node: all of ours were spawned
    return state.ended() || (!state.blind() && ended_late.contains(*state.process()));
  });
}

// Where all ranks had a hook nobody looks at /proc any more; one that has lost its own needs it
// again.
void RankWatch::State::look_again() {
  if (next_look || !judging() || (silent.empty() && stages.all_heard())) return;
  next_look = Clock::now() + kLookEvery;
  rearm();
}

void RankWatch::State::note_silence() {
  for (const ProcessId process : std::exchange(silent, {})) {
    if (!host::is_running(process)) continue;
    hooked.erase(process);
    in_torch.erase(process);
    if (const auto rank = stages.rank_of(process)) feed(RankSilent{*rank, process});
  }
}

// An entrypoint may hand on to another user far below us; once it has, nothing can be given to it.
void RankWatch::State::tell_of_another_user(const RankStarted& started) {
  const auto facts = host::facts_of(started.process);
  if (another_user_told || !config.hook || !facts || facts->uid == ::geteuid()) return;
  another_user_told = true;
  tell(runs_as_another_user(started.rank, *facts));
}

void RankWatch::State::look_for_ranks(TimePoint now) {
  if (!next_look || now < *next_look) return;
  const TimePoint::duration age = (now - begun) / kOneLookIn;
  const bool soon = stages.wants_samples() || age < kLookEvery;
  next_look = now + (soon ? TimePoint::duration(kLookEvery) : age);
  note_silence();
  if (stages.all_heard()) return next_look.reset();
  for (const Event& event : ranks_in_proc.on(looker.look(host::self()), hooked)) {
    if (const auto* started = std::get_if<RankStarted>(&event)) {
      watch_exit(started->rank, started->process);
      tell_of_another_user(*started);
    }
    feed(event);
  }
}

}  // namespace safelaunch::run
