#include "agent.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "safelaunch/base/format.h"
#include "safelaunch/base/process.h"

// The lease is looked at before anything else: an agent that was stopped has lost its ranks,
// whatever it hears now. A word counts only while its speaker leads as far as this agent knows.
// An end that was once wanted stays wanted, and is carried out as soon as nothing runs here and,
// for a leader whose board still answers, all others have gone.
namespace safelaunch::agree {
namespace {

// The end of an attempt that was killed, where its command had none of its own.
constexpr int kKilled = 128 + 9;

int peer_lost() {
  return exit_code_of(Errc::peer_lost);
}

}  // namespace

std::vector<AgentAction> Agent::on(const AgentEvent& event, TimePoint now) {
  if (stand_ == Stand::over) return {};
  // First of all: an agent that was stopped for a while has lost its lease meanwhile, and its ranks
  // are gone, whatever it hears now.
  lose_lease_in_time(now);
  std::visit([&](const auto& one) { take(one, now); }, event);
  follow(now);
  // The run may finish an action at once and publish the result. Publish actions therefore go
  // first, so that the board sees them in order.
  std::stable_partition(actions_.begin(), actions_.end(), [](const AgentAction& action) {
    return std::holds_alternative<Publish>(action);
  });
  return std::exchange(actions_, {});
}

std::optional<int> Agent::seat() const {
  return seat_ ? std::optional(seat_->number) : std::nullopt;
}

// From the board.

void Agent::take(const Joins&, TimePoint) {
  if (stand_ != Stand::out || ending_) return;
  stand_ = Stand::claiming;
  claims_next_ = true;
}

void Agent::take(const Seated& event, TimePoint) {
  if (!claimed_) return;
  unreachable_ = false;
  const bool leads = event.seat.number == 0;
  const bool told_again = seat_ && seat_->number == event.seat.number &&
                          (!leads || seat_->generation == event.seat.generation);
  if (told_again) {
    seat_ = event.seat;
    return;
  }
  if (seat_) lose_seat("the board has given this node another seat");
  if (ending_) return;
  stand_ = Stand::seated;
  claims_next_ = false;
  seat_ = event.seat;
  leader_here_ = leads;
  if (!leads) return;
  leader_.emplace(config_, event.seat.generation);
  if (wanted_) leader_->want(*wanted_);
}

void Agent::take(const Parked& event, TimePoint) {
  if (!claimed_) return;
  unreachable_ = false;
  if (seat_) lose_seat(event.why);
  if (ending_) return;
  stand_ = Stand::parked;
  claims_next_ = false;
  if (std::exchange(parked_why_, event.why) != event.why)
    actions_.push_back(
        TellUser{fmt::format("this safelaunch is a spare and waits: {}", event.why)});
}

void Agent::take(const Confirmed& event, TimePoint now) {
  const TimePoint until = event.sent + config_.terms.lease;
  if (!seat_ || until <= now) return;
  unreachable_ = false;
  lease_ = std::max(lease_.value_or(until), until);
  stand_ = Stand::seated;
  if (leader_) leader_->may_speak();
  if (running_ && !running_->killed) actions_.push_back(HoldLease{*lease_});
}

void Agent::take(const WordCame& event, TimePoint) {
  const Word& word = event.word;
  unreachable_ = false;
  if (leader_) leader_->heard(word);
  const auto id = std::pair(word.generation, word.number);
  const auto newest =
      word_ ? std::pair(word_->generation, word_->number) : std::pair(id.first, 0UL);
  if (id < newest) return;
  leader_here_ = leader_here_ || !seat_ || word.generation >= seat_->generation;
  if (id == newest) return;
  Result<Decision> decision = decision_from(word.text);
  if (!decision) return end({exit_code_of(decision.error().code), decision.error().message});
  word_ = Heard{word.generation, word.number, *std::move(decision)};
}

void Agent::take(const StandingCame& event, TimePoint now) {
  if (leader_) leader_->note(event.standing, now);
}

void Agent::take(const SeatVacated& event, TimePoint now) {
  if (leader_) return leader_->vacated(event.seat, now);
  if (event.seat != 0 || !seat_) return;
  leader_here_ = false;
  stop("node 0 is gone: the attempt ends here too", 0);
}

void Agent::take(const Unseated& event, TimePoint) {
  if (!claimed_) return;
  lose_seat(event.why);
  stand_ = Stand::claiming;
  claims_next_ = true;
}

void Agent::take(const Unreachable& event, TimePoint) {
  unreachable_ = true;
  trouble_ = event.why;
}

void Agent::take(const Refused& event, TimePoint) {
  claimed_ = false;
  if (may_go_apart())
    return end({0, "no agreement with the other nodes: " + event.error.message, 0, true});
  end({exit_code_of(event.error.code), event.error.message});
}

void Agent::take(const TurnedAway& event, TimePoint) {
  if (leader_) leader_->turned_away(event.who_and_why);
}

// From the run of this node.

void Agent::take(const NewsHere& event, TimePoint) {
  news_ = event.news;
  checked_ = true;
}

void Agent::take(const AttemptWanted& event, TimePoint) {
  wanted_ = event.go;
  if (leader_) leader_->want(event.go);
}

void Agent::take(const StopWanted& event, TimePoint) {
  if (leader_) leader_->want_stop(event.why);
}

void Agent::take(const EndWanted& event, TimePoint now) {
  if (leader_) return leader_->want_end(event.exit_code, event.why, 0, now);
  end({event.exit_code, event.why});
}

void Agent::take(const AttentionWanted& event, TimePoint) {
  if (leader_) leader_->attend(event);
}

void Agent::take(const ReachWanted& event, TimePoint) {
  if (leader_) leader_->want_reach(event.doors);
}

void Agent::take(const AttemptOverHere& event, TimePoint) {
  if (!running_) return;
  end_of_attempt_ = event.end;
  end_of_attempt_->attempt = running_->attempt;
  end_of_attempt_->killed = running_->killed;
  if (running_->killed && event.end.exit_code == 0) end_of_attempt_->exit_code = kKilled;
  phase_ = event.by_itself && !running_->stopping ? NodePhase::ended : NodePhase::stopped;
  running_.reset();
}

void Agent::take(const SignalHere& event, TimePoint now) {
  if (signal_ != 0) {
    hurry_ = true;
    if (leader_) leader_->hurry();
    return;
  }
  signal_ = event.signal;
  signalled_ = now;
  if (running_) running_->stopping = true;
  if (leader_)
    leader_->want_end(
        128 + signal_,
        fmt::format("signal {} at node 0 ({})", signal_name(signal_), config_.claim.host), signal_,
        now);
}

void Agent::take(const AgentTimePassed&, TimePoint) {}

// Losing.

void Agent::lose_lease_in_time(TimePoint now) {
  if (!lease_ || now < *lease_) return;
  lease_.reset();
  stand_ = Stand::lost;
  kill(
      fmt::format("the board has not confirmed this node for {} (--node-lease), so safelaunch "
                  "ends its ranks: another node may take their place{}",
                  describe_duration(config_.terms.lease),
                  trouble_.empty() ? "" : fmt::format(" ({})", trouble_)));
}

void Agent::lose_seat(const std::string& why) {
  kill(why);
  // The others stop without their leader, and one that comes back begins anew, because the
  // decisions of its run hold no longer.
  if (leader_ && leader_->end())
    end({leader_->end()->exit_code, leader_->end()->why, leader_->end()->signal});
  else if (leader_ && ever_started_)
    end({peer_lost(), "this node no longer leads: " + why});
  seat_.reset();
  lease_.reset();
  leader_.reset();
  leader_here_ = false;
  ready_for_.reset();
  published_.reset();
}

void Agent::kill(const std::string& why) {
  if (!running_ || std::exchange(running_->killed, true)) return;
  running_->stopping = true;
  actions_.push_back(KillHere{why});
}

void Agent::stop(const std::string& why, int signal) {
  if (!running_ || std::exchange(running_->stopping, true)) return;
  actions_.push_back(StopHere{why, signal});
}

// The run has passed on what came to this node itself.
void Agent::hurry() {
  if (hurry_ || std::exchange(running_->hurried, true)) return;
  actions_.push_back(StopHere{ending_->why, ending_->signal});
}

void Agent::end(Ending ending) {
  if (!ending_) ending_ = std::move(ending);
}

// The actions that the state as a whole asks for.

void Agent::follow(TimePoint now) {
  follow_word();
  watch_the_time(now);
  end_in_time(now);
  claim_again();
  publish(now);
  lead(now);
  finish(now);
}

/// The newest word, where its speaker still leads as far as we know.
const Agent::Heard* Agent::present_word() const {
  if (!word_ || stand_ == Stand::out || stand_ == Stand::claiming) return nullptr;
  return !seat_ || word_->generation >= seat_->generation ? &*word_ : nullptr;
}

void Agent::follow_word() {
  const Heard* word = present_word();
  if (word == nullptr) return;
  const Decision& decision = word->decision;
  if (ending_) return void(ending_->hurry = ending_->hurry || decision.hurry);
  if (decision.order == Order::end && is_superfluous())
    actions_.push_back(TellUser{parked_why_ + "; nothing has run here"});
  if (decision.order == Order::end)
    return end({decision.exit_code, decision.why, decision.signal, false, decision.hurry});
  if (decision.order == Order::apart) return end({0, decision.why, 0, seat_ && !ever_started_});
  if (!seat_) return;
  if (running_ && running_->called.generation != word->generation)
    return stop("another node leads now", 0);
  if (decision.order == Order::gather) return follow_gather(*word);
  if (decision.order == Order::go) return follow_go(*word);
  follow_stop(*word);
}

void Agent::follow_gather(const Heard& word) {
  if (running_) return stop(word.decision.why, 0);
  heard_ = word.number;
  phase_ = checked_ ? NodePhase::ready : NodePhase::joined;
  if (!checked_) return;
  ready_for_ = WordId{word.generation, word.number};
  if (word.decision.doors.empty() || reached_for_ == ready_for_) return;
  reached_for_ = ready_for_;
  actions_.push_back(ReachOthers{word.decision.doors});
}

void Agent::follow_go(const Heard& word) {
  const Decision& go = word.decision;
  const WordId called{word.generation, go.gathered};
  if (running_) return running_->called == called ? attend(go) : stop(go.why, 0);
  if (ready_for_ == called && signal_ == 0) {
    if (!is_confirmed() || !leader_here_) return;  // it may come yet
    ready_for_.reset();
    running_ = Running{go.attempt, called, {false, 0, go.note}};
    ever_started_ = true;
    attempt_ = go.attempt;
    end_of_attempt_.reset();
    heard_ = word.number;
    phase_ = NodePhase::going;
    actions_.push_back(HoldLease{*lease_});
    actions_.push_back(StartHere{go});
    return attend(go);
  }
  // It is meant for others, or has been followed.
  heard_ = word.number;
}

void Agent::follow_stop(const Heard& word) {
  heard_ = word.number;
  ready_for_.reset();
  stop(word.decision.why, word.decision.signal);
}

void Agent::attend(const Decision& go) {
  const AttendHere wanted{go.watch, go.question, go.note, go.count};
  if (leader_ || wanted == running_->attends) return;
  running_->attends = wanted;
  actions_.push_back(wanted);
}

void Agent::claim_again() {
  if (!claims_next_ || running_ || ending_) return;
  claims_next_ = false;
  claimed_ = true;
  actions_.push_back(ClaimSeat{config_.claim});
}

NodeNews Agent::news() const {
  NodeNews news = news_;
  news.phase = phase_;
  news.attempt = attempt_;
  news.heard = heard_;
  news.signal = signal_;
  news.hurry = hurry_;
  news.end = end_of_attempt_;
  return news;
}

void Agent::publish(TimePoint now) {
  if (!seat_) return;
  NodeNews present = news();
  if (published_ == present) return;
  if (leader_)
    leader_->note_own(present, now);
  else
    actions_.push_back(Publish{present});
  published_ = std::move(present);
}

void Agent::lead(TimePoint now) {
  if (!leader_ || !is_confirmed()) return;
  for (AgentAction& action : leader_->step(now)) actions_.push_back(std::move(action));
}

void Agent::finish(TimePoint now) {
  if (!ending_) return;
  if (running_) {
    stop(ending_->why, ending_->signal);
    if (ending_->hurry) hurry();
    return;
  }
  // The board may live in this process: the others must have heard the last word.
  if (leader_ && is_confirmed() && claimed_ && !leader_->alone()) return;
  phase_ = NodePhase::leaving;
  publish(now);
  if (claimed_) actions_.push_back(LeaveBoard{});
  if (ending_->apart)
    actions_.push_back(GoApart{ending_->why});
  else
    actions_.push_back(EndHere{ending_->exit_code, ending_->why});
  stand_ = Stand::over;
}

// The time.

/// Whether no leader can tell this agent what to do.
bool Agent::is_alone() const {
  switch (stand_) {
    case Stand::out:
    case Stand::over: return false;
    case Stand::claiming:
    case Stand::lost: return true;
    case Stand::parked: return unreachable_;
    case Stand::seated: return !lease_ || !leader_here_;
  }
  return false;
}

/// Whether it was started as a node that another one has been all the time: it may be of another
/// job, which has not run.
bool Agent::is_superfluous() const {
  return stand_ == Stand::parked && config_.claim.seat && !ever_started_;
}

Duration Agent::patience() const {
  if (ever_started_ && stand_ != Stand::parked) return config_.back_within;
  if (!may_go_apart() || stand_ == Stand::parked) return config_.start_within;
  // The leader decides first, and forgets this node before it goes its own way.
  return *config_.apart_after + config_.terms.lease + config_.terms.kill_margin;
}

std::string Agent::waits_for() const {
  const std::string trouble = trouble_.empty() ? std::string() : ": " + trouble_;
  if (stand_ == Stand::seated && lease_) return "node 0";
  return "the board of the nodes" + trouble;
}

void Agent::watch_the_time(TimePoint now) {
  if (!is_alone() || ending_) {
    alone_since_.reset();
    pace_.end();
    return;
  }
  if (!alone_since_) alone_since_ = now;
  pace_.begin(now);
  if (now >= *alone_since_ + patience())
    return end({may_go_apart() && stand_ != Stand::parked ? 0 : peer_lost(),
                fmt::format("{} waited {} for {}", config_.claim.host,
                            describe_duration(patience()), waits_for()),
                0, may_go_apart() && stand_ != Stand::parked});
  if (pace_.is_time(now)) actions_.push_back(TellUser{"waiting for " + waits_for()});
}

/// When an end that others should have answered is taken without their answer.
std::optional<TimePoint> Agent::gives_up_at() const {
  if (ending_ || running_) return std::nullopt;
  // By then the ranks of all members are gone, too.
  if (leader_ && leader_->end())
    return is_confirmed() ? std::nullopt
                          : std::optional(leader_->end()->wanted + config_.terms.lease +
                                          config_.terms.kill_margin);
  if (signal_ == 0) return std::nullopt;
  if (is_alone() || !seat_) return signalled_;
  // The leader has heard of it, and waits until the ranks of all nodes are over.
  const Heard* word = present_word();
  if (word != nullptr && word->decision.order == Order::stop && word->decision.signal != 0)
    return std::nullopt;
  return signalled_ + config_.terms.lease;
}

void Agent::end_in_time(TimePoint now) {
  const auto at = gives_up_at();
  if (!at || now < *at) return;
  if (leader_ && leader_->end())
    end({leader_->end()->exit_code, leader_->end()->why, leader_->end()->signal});
  else
    end({128 + signal_, fmt::format("signal {} at {}", signal_name(signal_), config_.claim.host),
         signal_});
}

std::optional<TimePoint> Agent::deadline() const {
  if (stand_ == Stand::over) return std::nullopt;
  std::optional<TimePoint> next = lease_;
  const auto also = [&](std::optional<TimePoint> time) {
    if (time && (!next || *time < *next)) next = time;
  };
  if (alone_since_) also(*alone_since_ + patience());
  also(pace_.next());
  also(gives_up_at());
  if (leader_ && is_confirmed()) also(leader_->deadline());
  return next;
}

// The machine that others see.

AgentMachine::AgentMachine(AgentConfig config)
    : agent_(std::make_unique<Agent>(std::move(config))) {}
AgentMachine::AgentMachine(AgentMachine&&) noexcept = default;
AgentMachine& AgentMachine::operator=(AgentMachine&&) noexcept = default;
AgentMachine::~AgentMachine() = default;

std::vector<AgentAction> AgentMachine::on(const AgentEvent& event, TimePoint now) {
  return agent_->on(event, now);
}

std::optional<TimePoint> AgentMachine::deadline() const {
  return agent_->deadline();
}

bool AgentMachine::leads() const {
  return agent_->leads();
}

std::optional<int> AgentMachine::seat() const {
  return agent_->seat();
}

}  // namespace safelaunch::agree
