#include <algorithm>
#include <csignal>
#include <utility>

#include "safelaunch/ranks/rank_machine.h"

// How the processes of ranks begin and end: which are watched, what they raise, whether they give
// up a wait, and which end is a rank's own.
namespace safelaunch::ranks {
namespace {

// torch's watchdog repeats its words when it ends its process, a minute later.
constexpr Duration kTimeoutsOfAHang = std::chrono::minutes(2);

}  // namespace

// A rank that was started again, or that comes to another world, is not held to how its former
// process ended. A launcher that restarts its ranks ends all of them first.
void RankMachine::forget_former_life(Rank rank, ProcessId process) {
  if (!is_rank(rank, process)) return;
  const auto is_former = [&](const auto& one) {
    return one.rank == rank && one.process != process;
  };
  const bool begins = rules_.stages.dead_rank == watch::DeadRank::is_restarted &&
                      std::ranges::any_of(seen_.exits, is_former);
  if (begins) seen_.raised_before = seen_.raised;
  std::erase_if(seen_.exits, is_former);
  std::erase_if(seen_.raised, is_former);
  if (!begins) return;
  seen_.exits.clear();
  seen_.raised.clear();
  seen_.came_to.clear();
  gave_up_at_.reset();
  actions_.push_back(TellNewLife{});
}

// Also while the job is stopped: a rank that ends in order then has lost nothing.
void RankMachine::note_finished(ProcessId process, const watch::HookMessage& message) {
  if (std::holds_alternative<watch::HookException>(message.body)) failing_.insert(process);
  if (message.name != "exit" || message.source != Source::hook) return;
  const auto rank = stages_.rank_of(process);
  if (!rank) return;
  if (!failing_.contains(process)) seen_.finished.insert(*rank);
  if (const auto* exit = std::get_if<watch::HookExit>(&message.body); exit && exit->collectives)
    actions_.push_back(RecordSome{report::record::Counted{rank->value, *exit->collectives}});
}

// What a rank tells twice counts from the first time on. The picture of another node may come late.
bool RankMachine::follows_a_kill(const RankRaised& raised) const {
  const auto is_kill = [&](const RankExited& one) {
    const auto* killed = one.status ? std::get_if<Signaled>(&*one.status) : nullptr;
    return one.rank != raised.rank && killed != nullptr && is_rank(one.rank, one.process) &&
           (killed->signal == SIGKILL || killed->signal == SIGSEGV || killed->signal == SIGBUS);
  };
  const auto was_before = [&](const RankRaised& one) {
    return one.rank == raised.rank && !one.after_a_kill;
  };
  return raised.process.is_here() && std::ranges::none_of(seen_.raised, was_before) &&
         std::ranges::any_of(seen_.exits, is_kill);
}

void RankMachine::hear_raised(RankRaised& raised, TimePoint now) {
  if (is_timeout(raised)) give_up(raised.rank, now);
  raised.after_a_kill = raised.after_a_kill || follows_a_kill(raised);
  note_raised(seen_.raised, raised);
}

// Of the ranks of a spawn, counted in the order of their start, or of a process that is no rank.
void RankMachine::hear_raised_unnamed(ProcessId process, RankRaised raised, TimePoint now) {
  constexpr std::size_t kMostNameless = 4;
  const auto rank = stages_.rank_of(process);
  if (rank && !rules_.stages.others_start_ranks) {
    raised.rank = *rank;
    raised.process = process;
    hear_raised(raised, now);
    feed(raised, now);
  } else if (seen_.raised_nameless.size() < kMostNameless) {
    seen_.raised_nameless.push_back(std::move(raised));
  }
}

// Every rank that waits gives up, and says so more than once. For whom it waited is forgotten with
// its end. A member cannot say for whom its ranks wait.
void RankMachine::give_up(std::optional<Rank> rank, TimePoint now) {
  if (frozen_ || stages_.verdict() || (gave_up_at_ && now - *gave_up_at_ < kTimeoutsOfAHang))
    return;
  const bool member = rules_.stages.judged_elsewhere;
  const bool trains = stages_.training() || (member && stages_.may_have_trained());
  auto wait = member ? std::nullopt : rank ? stages_.wait_of(*rank, now) : stages_.waiting_now(now);
  if (!wait && !trains) return;
  gave_up_at_ = now;
  actions_.push_back(WaitTimedOut{std::move(wait)});
}

void RankMachine::take(const RankSpawned& event, TimePoint now) {
  spawned_.insert(event.process);
  feed(RankStarted{event.rank, event.process, rules_.stages.world_size, Source::launch}, now);
}

// The reaper reports the end of processes that we spawned; every other process needs a pidfd.
void RankMachine::note_process(Rank rank, ProcessId process) {
  seen_.pids[process.pid] = rank;
  watch_exit(rank, process);
}

void RankMachine::watch_exit(Rank rank, ProcessId process) {
  if (spawned_.contains(process) || !watched_.insert(process).second) return;
  actions_.push_back(WatchExit{rank, process});
}

void RankMachine::take(const ProcessEnded& event, TimePoint now) {
  // Its script may have chosen another rank than it was started as.
  const RankExited end{stages_.rank_of(event.process).value_or(event.rank), event.process,
                       event.status};
  if (frozen_) return end_late(end);
  const bool was_rank = is_rank(end.rank, end.process);
  feed(end, now);
  // If a wrapper goes on, its helper has ended, and the wrapper is the rank's process again.
  if (was_rank && is_rank(end.rank, end.process)) seen_.exits.push_back(end);
  watched_.erase(end.process);
  silent_.erase(end.process);
  worlds_.ended(end.process);
  look_again(now);
}

void RankMachine::end_late(const RankExited& end) {
  if (!is_rank(end.rank, end.process) || !ended_late_.insert(end.process).second) return;
  seen_.late_exits.push_back(end);
  if (all_ranks_have_gone()) actions_.push_back(TellRanksGone{});
}

// A child of a rank has inherited RANK. The rank handles the exceptions of its children. A second
// process that wants to meet the others as the same rank is no child.
bool RankMachine::is_helper(const RankRaised& raised) const {
  const watch::RankState* state = stages_.find(raised.rank);
  return state && state->process() && state->process() != raised.process &&
         !stages_.is_elsewhere(raised.process);
}

// A process in which no hook has spoken may be a wrapper, whose rank is below it and still saves.
bool RankMachine::all_ranks_have_gone() const {
  return std::ranges::all_of(stages_.ranks(), [this](const auto& one) {
    const watch::RankState& state = one.second;
    if (!state.known()) return !spawned_.empty();  // of another node: all of ours were spawned
    if (!state.process()->is_here()) return true;  // its own agent ends it
    return state.ended() || (!state.blind() && ended_late_.contains(*state.process()));
  });
}

}  // namespace safelaunch::ranks
