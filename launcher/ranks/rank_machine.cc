#include "safelaunch/ranks/rank_machine.h"

#include <algorithm>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/ranks/attempt_place.h"
#include "safelaunch/watch/hook_channel.h"

// Every event has a function, which adds the actions that it wants to actions_. Here are the events
// that come from the ranks by themselves: the words of hooks, of NCCL and of its plugin, and the
// ends of processes. A word counts for the rank as which its process speaks; news that stands in
// the record already is not told again. rank_looks.cc has the events that come of looks.
namespace safelaunch::ranks {
namespace {

// A launcher may start it again, and a script another program as the same rank.
std::optional<Rank> rank_that_begins(const Event& event) {
  if (const auto* started = std::get_if<RankStarted>(&event)) return started->rank;
  if (const auto* entered = std::get_if<StageEntered>(&event)) return entered->rank;
  return std::nullopt;
}

std::vector<watch::RankPlace> places_of(const std::map<Rank, std::string>& doings,
                                        const RankAnswers& answers) {
  std::vector<watch::RankPlace> places;
  for (const auto& [rank, doing] : doings) {
    const auto answer = answers.stacks.find(rank);
    places.push_back({rank, answer == answers.stacks.end() ? "" : answer->second.where, doing});
  }
  return places;
}

std::string standing_of(const watch::RankState& state, bool training, bool serves) {
  if (state.ended()) return "has ended";
  if (training) return serves ? "serving" : "in training";
  for (int index = kStageCount - 1; index > 0; --index)
    if (const auto stage = static_cast<Stage>(index); state.waits_in(stage))
      return fmt::format("waits in {}", name(stage));
  return fmt::format("has reached {}", name(state.furthest()));
}

}  // namespace

std::vector<WatchAction> RankMachine::on(const WatchEvent& event, TimePoint now) {
  actions_.clear();
  std::visit([&](const auto& one) { take(one, now); }, event);
  record_status(now);
  return std::exchange(actions_, {});
}

void RankMachine::tell(const std::string& text) {
  actions_.push_back(RecordEvent{report::record::Notice{text}});
  actions_.push_back(TellNotice{text});
}

void RankMachine::feed(std::span<const Event> events, TimePoint now) {
  for (const Event& event : events) {
    const auto* entered = std::get_if<StageEntered>(&event);
    const auto* reached = std::get_if<StageReached>(&event);
    if (entered != nullptr && entered->stage >= Stage::group) actions_.push_back(TellMeeting{});
    seen_.began |= entered != nullptr || (reached != nullptr && reached->stage > Stage::spawned);
  }
  follow(stages_.on(events, now));
  seen_.world_size = stages_.world_size();
  for (const Event& event : events) {
    const auto* started = std::get_if<RankStarted>(&event);
    const auto* entered = std::get_if<StageEntered>(&event);
    if (started != nullptr) forget_former_life(started->rank, started->process);
    if (entered != nullptr) forget_former_life(entered->rank, entered->process);
  }
  // A wait that is over wakes nobody any more, and its line would stay on the screen.
  if (!judging() || !waiting_since_ || stages_.wants_samples()) return;
  waiting_since_.reset();
  actions_.push_back(ShowStatus{});
}

void RankMachine::follow(const std::vector<watch::StageAction>& wanted) {
  for (const watch::StageAction& action : wanted)
    std::visit([this](const auto& one) { perform(one); }, action);
}

void RankMachine::perform(const Failure& verdict) {
  TellVerdict tell{verdict};
  if (knock_elsewhere(verdict)) {
    tell.verdict.kind = FailureKind::different_stores;
    tell.verdict.proof = different_stores(seen_.stores);
  }
  for (MissingRank& one : tell.verdict.missing)
    if (const std::string below = worlds_.words(one.rank); !below.empty())
      one.doing += (one.doing.empty() ? "" : "; ") + below;
  actions_.push_back(std::move(tell));
}

void RankMachine::take(const HookSpoke& event, TimePoint now) {
  const auto& [process, message, line] = event;
  note_finished(process, message);
  if (frozen_ || (message.rank && !named_.accept(process, *message.rank))) return;
  const bool by_plugin = message.source == Source::plugin;
  if (message.rank) (by_plugin ? plugged_ : hooked_)[process] = *message.rank;
  seen_.heard = seen_.heard || (message.rank && !by_plugin);
  // A hook that speaks has a connection, though another one of its process was closed before.
  if (!by_plugin) silent_.erase(process);
  if (by_plugin) follow_device(process, message.events, now);
  // If the hook watches the collectives, its word counts: the plugin reports a collective as passed
  // even when its communicator was aborted.
  if (by_plugin && in_torch_.contains(process)) return;
  for (const Event& one : message.events)
    if (by_plugin || !is_on_device(process, one)) hear(one, event, now);
  hear_body(process, message, now);
}

// A kernel that the plugin has seen begin, and not end, contradicts a hook that calls the
// collective finished: the rank is through once both say so.
bool RankMachine::is_on_device(ProcessId process, const Event& event) {
  const auto* reached = std::get_if<StageReached>(&event);
  const auto known = on_device_.find(process);
  if (reached == nullptr || reached->stage != Stage::collective || known == on_device_.end())
    return false;
  known->second = *reached;
  return true;
}

void RankMachine::follow_device(ProcessId process, std::span<const Event> events, TimePoint now) {
  for (const Event& event : events) {
    const auto* entered = std::get_if<StageEntered>(&event);
    const auto* reached = std::get_if<StageReached>(&event);
    if (entered != nullptr && entered->stage == Stage::collective) on_device_.try_emplace(process);
    if (reached != nullptr && reached->stage == Stage::collective) leave_device(process, now);
  }
}

// Whatever the hook has told meanwhile holds from now on.
void RankMachine::leave_device(ProcessId process, TimePoint now) {
  const auto left = on_device_.extract(process);
  if (left.empty() || !left.mapped() || frozen_) return;
  record_stage(*left.mapped());
  feed(*left.mapped(), now);
}

// What happens in a world below a rank is that rank's work.
void RankMachine::hear(const Event& event, const HookSpoke& from, TimePoint now) {
  if (from.message.source == Source::plugin) return hear_of_rank(event, from, now);
  if (std::holds_alternative<StageEntered>(event) && !from.message.of_jax)
    in_torch_.insert(from.process);
  for (const Event& one : worlds_.sort(from.process, event, from.line, stages_))
    hear_of_rank(one, from, now);
  if (!worlds_.is_below(from.process)) return;
  hooked_.erase(from.process);
  stages_.give_back(from.process);
  watch_exit(*from.message.rank, from.process);
}

void RankMachine::hear_of_rank(Event event, const HookSpoke& from, TimePoint now) {
  note_what_it_names(event);
  if (const auto* reached = std::get_if<StageReached>(&event)) record_stage(*reached);
  if (auto* raised = std::get_if<RankRaised>(&event); raised && !is_helper(*raised))
    hear_raised(*raised, now);
  // A rank that begins again has not come to its end after all.
  if (const auto rank = rank_that_begins(event)) seen_.finished.erase(*rank);
  if (auto* started = std::get_if<RankStarted>(&event)) {
    // The first process that speaks may be a helper of the shell that is the rank.
    const bool speaks = started->anew && started->process == from.process;
    const auto topmost = speaks ? watch::topmost_of_rank(from.line) : std::nullopt;
    if (topmost && *topmost != started->process) started->wrapper = topmost;
    if (started->wrapper) note_process(started->rank, *started->wrapper);
    note_process(started->rank, started->process);
  }
  const auto* entered = std::get_if<StageEntered>(&event);
  if (entered != nullptr) note_process(entered->rank, entered->process);
  feed(event, now);
  if (entered != nullptr) take_back_guesses();
  if (entered != nullptr && entered->stage == Stage::rendezvous) check_stores(now);
}

// A rank that knocks does not come on its own to another store. One that had a failure before may
// be on its way through several. Of two worlds the ranks that came first may look like one.
bool RankMachine::stays_at_its_store(Rank rank) const {
  const watch::RankState* state = stages_.find(rank);
  return state != nullptr && seen_.knocking.contains(rank) && state->waits_in(Stage::rendezvous) &&
         state->claimed_world == stages_.world_size() && !state->raised() &&
         !stages_.may_be_one_of_several_worlds();
}

void RankMachine::check_stores(TimePoint now) {
  const int world = stages_.world_size();
  if (!judging() || world < 2 || seen_.knocking.size() != static_cast<std::size_t>(world)) return;
  const bool all_stay = std::ranges::all_of(
      seen_.knocking, [this](const auto& one) { return stays_at_its_store(one.first); });
  if (all_stay && ports_differ(seen_.knocking))
    follow(
        stages_.contradict(FailureKind::different_stores, different_stores(seen_.knocking), now));
}

// Whether those that are missing knock at stores at which none of those is that wait for them: they
// may have got through before the missing came.
bool RankMachine::knock_elsewhere(const Failure& verdict) const {
  const auto elsewhere = [&](const MissingRank& missing) {
    return stays_at_its_store(missing.rank) && std::ranges::all_of(verdict.waiting, [&](Rank rank) {
             const auto theirs = seen_.stores.find(rank);
             return theirs != seen_.stores.end() &&
                    ports_differ({*seen_.knocking.find(missing.rank), *theirs});
           });
  };
  return verdict.kind == FailureKind::hung && !verdict.waiting.empty() &&
         !verdict.missing.empty() && std::ranges::all_of(verdict.missing, elsewhere);
}

// Notes the store that a rank is given, and that it may never get into, and the backend.
void RankMachine::note_what_it_names(const Event& event) {
  const auto* entered = std::get_if<StageEntered>(&event);
  if (entered != nullptr && entered->stage == Stage::rendezvous)
    seen_.stores[entered->rank] = seen_.knocking[entered->rank] = entered->detail;
  if (entered != nullptr && entered->stage == Stage::group && entered->source == Source::hook)
    seen_.backends.insert(entered->detail);
  const auto* reached = std::get_if<StageReached>(&event);
  if (reached != nullptr && reached->stage == Stage::rendezvous)
    seen_.knocking.erase(reached->rank);
}

void RankMachine::hear_body(ProcessId process, const watch::HookMessage& message, TimePoint now) {
  // In another pid namespace its parent's number means another process.
  const auto* hello = std::get_if<watch::HookHello>(&message.body);
  if (hello != nullptr && hello->pid == process.pid) parents_[process] = hello->parent;
  const auto pass = [&](const auto* answer) {
    if (answer) actions_.push_back(PassAnswer{process, message.rank, *answer});
  };
  pass(std::get_if<watch::StackAnswer>(&message.body));
  pass(std::get_if<watch::CollectivesAnswer>(&message.body));
  pass(std::get_if<watch::CountersAnswer>(&message.body));
  pass(std::get_if<watch::ArrivalsAnswer>(&message.body));
  if (const auto* refusal = std::get_if<watch::HookRefusal>(&message.body))
    actions_.push_back(TellNotice{fmt::format("{} is refused: {}", refusal->what, refusal->why)});
  else if (const auto* fault = std::get_if<watch::HookFault>(&message.body))
    actions_.push_back(RecordSome{report::record::HookError{fault->where, fault->error}});
  const auto* ended = std::get_if<watch::HookException>(&message.body);
  if (ended != nullptr && message.rank && is_rank(*message.rank, process) &&
      !ended->came_to.groups.empty())
    seen_.came_to[*message.rank] = ended->came_to;
  if (ended != nullptr && !message.rank) hear_raised_unnamed(process, ended->raised, now);
  if (std::holds_alternative<watch::HookServes>(message.body)) follow(stages_.server_is_up(now));
  const auto* failed = std::get_if<watch::HookServeFailed>(&message.body);
  if (failed != nullptr && rules_.stages.serves && !stages_.training())
    actions_.push_back(ServeFailed{failed->status});
  if (message.rank && is_rank(*message.rank, process)) note_deed(*message.rank, message, now);
}

// What the rank itself has begun, and what fails behind its back.
void RankMachine::note_deed(Rank rank, const watch::HookMessage& message, TimePoint now) {
  if (const auto* call = std::get_if<watch::HookCall>(&message.body))
    note_call(seen_, rank, *call, now);
  else if (const auto* thread = std::get_if<watch::HookThreadRaised>(&message.body))
    seen_.threads_raised[rank] = thread->raised;
  else if (const auto* child = std::get_if<watch::HookChildDied>(&message.body))
    seen_.children_died[rank] = *child;
}

bool RankMachine::wants_line(ProcessId process, const watch::HookMessage& message) const {
  if (frozen_) return false;
  return std::ranges::any_of(message.events, [&](const Event& event) {
    return Worlds::wants_line(process, event, stages_);
  });
}

// Each stage is recorded once, since hook, log and plugin may tell the same.
void RankMachine::record_stage(const StageReached& reached) {
  if (const auto* known = stages_.find(reached.rank); known && known->reached(reached.stage))
    return;
  actions_.push_back(RecordEvent{
      report::record::Stage{reached.rank.value, name(reached.stage), reached.process.pid}});
}

// An end is seen by its pidfd; a process that is still there at the next look has closed it.
void RankMachine::take(const HookClosed& event, TimePoint now) {
  leave_device(event.process, now);
  if (hooked_.contains(event.process)) silent_.insert(event.process);
  look_again(now);
}

void RankMachine::take(const HookFlooded& event, TimePoint) {
  const auto rank = hooked_.find(event.process);
  const std::string who =
      rank == hooked_.end()
          ? fmt::format("pid {}", event.process.pid)
          : fmt::format("rank {} (pid {})", rank->second.value, event.process.pid);
  const std::string text = fmt::format(
      "{} reports more than {} events a second; safelaunch drops all but the last of the rest", who,
      watch::PacketBudget::kASecond);
  actions_.push_back(RecordSome{report::record::Notice{text}});
  if (!frozen_ && !std::exchange(flood_told_, true)) actions_.push_back(TellNotice{text});
}

void RankMachine::take(const NcclTold& told, TimePoint now) {
  const auto process = std::visit([](const auto& one) { return one.process; }, told.event);
  if (!judging() || worlds_.is_below(process)) return;
  if (const auto* started = std::get_if<RankStarted>(&told.event))
    // A process that /proc does not show here has no end that could be watched.
    if (started->process.start_ticks != 0) note_process(started->rank, started->process);
  if (const auto* reached = std::get_if<StageReached>(&told.event)) record_stage(*reached);
  feed(told.event, now);
}

void RankMachine::take(const nccl::Contradiction& found, TimePoint now) {
  if (frozen_) return;
  const bool twice = found.about == nccl::RootComplaint::About::rank_twice;
  follow(stages_.contradict(twice ? FailureKind::duplicate_rank : FailureKind::world_size_mismatch,
                            found.text, now));
}

void RankMachine::take(const AllStandStill& event, TimePoint) {
  if (!judging()) return;
  standstill_ = event;
  for (auto& [rank, doing] : standstill_->doings)
    if (const std::string below = worlds_.words(rank); !below.empty()) doing += "; " + below;
  actions_.push_back(AskPlaces{});
}

// No decision hangs on it. While the job is being stopped nobody hears the answers any more.
void RankMachine::take(const StacksWanted&, TimePoint now) {
  ShowStacks show;
  for (const auto& [rank, state] : stages_.ranks())
    if (state.known())
      show.known.ranks.push_back({rank,
                                  *state.process(),
                                  standing_of(state, stages_.training(), rules_.stages.serves),
                                  {},
                                  {}});
  if (!frozen_) show.ask = who_can_answer(stages_.ranks(), now);
  actions_.push_back(std::move(show));
}

// A program may well wait for hours for what nobody here can see: it is ended for it only where
// somebody has set a limit, or ranks wait for each other in a world below, and nothing could be
// removed that it waits for.
void RankMachine::take(const PlacesTold& told, TimePoint now) {
  if (!judging() || !standstill_) return;
  const auto [still, doings] = *std::exchange(standstill_, std::nullopt);
  const std::string text = watch::describe_standstill(still.lasts, places_of(doings, told.answers));
  const bool waits_below = std::ranges::any_of(
      doings, [this](const auto& one) { return !worlds_.words(one.first).empty(); });
  const bool ends = still.then == watch::StoodStill::Then::ends_the_job || waits_below;
  if (ends && told.left.empty()) {
    std::string proof = text;
    for (const std::string& more : {told.locks, told.help})
      if (!more.empty()) proof += "; " + more;
    return follow(stages_.stood_still(still.lasts, doings, proof, now));
  }
  actions_.push_back(RecordEvent{report::record::Status{stages_.counts_text() + " · " + text}});
  actions_.push_back(TellNotice{text});
  if (!told.locks.empty()) actions_.push_back(TellNotice{told.locks});
  if (!told.help.empty()) actions_.push_back(TellNotice{"help: " + told.help});
  if (!told.left.empty()) actions_.push_back(RemoveLocks{told.left});
}

}  // namespace safelaunch::ranks
