#include "run_machine.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <utility>

#include "attempt_machine.h"
#include "attempt_summary.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/doctor/advice_text.h"
#include "safelaunch/launch/stop.h"

// Every event has a function, which asks for the state and adds the actions that it wants to
// actions_. An attempt that failed is diagnosed at once, but its place in the report is written
// only when it is known what follows; an end of the run before that must record it, too. Where
// several nodes agree, the same functions propose to all in place of starting here.
namespace safelaunch::run {
namespace {

// Slurm's two signals come closer together than this, and those of a person do not.
constexpr Duration kEchoWithin{20};

// USR1, ALRM and many more; not those by which a window, a child or a shell speaks.
bool ends_what_does_not_handle_it(const launch::ReceivedSignal& event) {
  static constexpr std::array kHarmless{SIGWINCH, SIGURG,  SIGCHLD, SIGCONT,
                                        SIGTSTP,  SIGTTIN, SIGTTOU, SIGPIPE};
  return !event.ignored && std::ranges::find(kHarmless, event.signal) == kHarmless.end();
}

}  // namespace

std::vector<RunAction> RunMachine::on(const RunEvent& event, TimePoint now) {
  if (is<Over>()) return {};
  actions_.clear();
  std::visit([&](const auto& one) { take(one, now); }, event);
  return std::exchange(actions_, {});
}

std::optional<TimePoint> RunMachine::deadline() const {
  if (const auto* pausing = std::get_if<Pausing>(&state_)) return pausing->until;
  return std::nullopt;
}

void RunMachine::take(const RunBegins&, TimePoint) {
  if (!is<Idle>()) return;
  agrees_ = plan_.party.has_value();
  if (agrees_) actions_.push_back(JoinNodes{});
  if (!plan_.options.preflight) return begin({}, {});
  state_ = Checking{};
  actions_.push_back(CheckHost{});
}

void RunMachine::take(const HostChecked& event, TimePoint) {
  if (!is<Checking>()) return;
  for (const std::string& line : event.report.lines) say(line);
  if (!event.report.trouble.empty())
    say("warning: the job starts without the checks of the host: " + event.report.trouble +
        " (--no-preflight skips them)");
  std::string blocked;
  std::vector<std::string> risks;
  for (const Finding& finding : event.report.findings) {
    actions_.push_back(RecordFinding{finding});
    if (finding.cause == cause::kOwnNameUnknown && may_name_the_loopback()) {
      by_loopback_ = true;
      say(finding.evidence.substr(0, finding.evidence.find(';')) +
          ": torchrun's ranks are told 127.0.0.1 in its place (PET_LOCAL_ADDR)");
      continue;
    }
    if (finding.cause == cause::kEndpointNotOwn)
      facts_.push_back({finding.cause, finding.evidence});
    if (doctor::blocks(finding))
      blocked += fmt::format("{}blocked: {}",
                             blocked.empty() ? "" : "\nsafelaunch: ", doctor::in_one_line(finding));
    else
      risks.push_back("risk: " + doctor::in_one_line(finding));
  }
  for (const std::string& risk : risks) say(risk);
  if (!blocked.empty()) blocked += " (--no-preflight runs it all the same)";
  begin(std::move(risks), blocked);
}

// A finding that forbids this node to start forbids it to all, so that none of them waits for it.
void RunMachine::begin(std::vector<std::string> risks, const std::string& blocked) {
  if (!agrees_) return start_unless(blocked);
  if (!(blocked_ = blocked).empty()) complain(blocked);
  state_ = Gathering{};
  if (!blocked.empty()) risks = {blocked};
  actions_.push_back(TellReady{std::move(risks), !blocked.empty()});
}

void RunMachine::start_unless(const std::string& blocked) {
  if (blocked.empty()) return start(plan_.chain.front());
  fail_with(exit_code_of(Errc::blocked), blocked);
}

void RunMachine::start(const profile::Profile& profile) {
  note_profile(profile);
  if (agrees_) {
    state_ = Gathering{};
    return actions_.push_back(ProposeAttempt{profile_, attempts_ + 1, former_port_, checkpoint_});
  }
  state_ = Attempting{};
  actions_.push_back(
      StartAttempt{profile_to_start(), attempts_ + 1, former_port_, {}, by_loopback_});
}

void RunMachine::note_profile(const profile::Profile& profile) {
  profile_ = plan::with_training_of(plan_.chain.front(), profile);
  // The same profile once more is a retry, whose number must be kept.
  if (!tried_.empty() && tried_.back() == profile.name) return;
  tried_.push_back(profile.name);
  retries_of_profile_ = 0;
}

// Only before the first attempt: every later one follows from the diagnosis of the one before.
void RunMachine::take(const NodesReady& event, TimePoint) {
  if (!is<Gathering>() || attempts_ > 0) return;
  for (const std::string& line : event.lines) say(line);
  for (const Finding& finding : event.findings) {
    actions_.push_back(RecordFinding{finding});
    say("risk: " + doctor::in_one_line(finding));
  }
  start_unless(event.blocked);
}

void RunMachine::take(const AttemptAgreed& event, TimePoint) {
  if (!is<Gathering>()) return;
  if (const Result<void> able = take_agreed(event.go); !able) {
    actions_.push_back(TellNotStarted{able.error()});
    // Of the other nodes it hears only how their attempts end.
    if (leads_) end(exit_code_of(able.error().code), able.error().message);
    return;
  }
  // The leader's count holds, since this node may have missed an attempt.
  attempts_ = event.go.attempt - 1;
  state_ = Attempting{};
  actions_.push_back(StartAttempt{profile_to_start(), event.go.attempt, former_port_, event.go});
}

Result<void> RunMachine::take_agreed(const agree::Decision& go) {
  // This node's chain may be another than the leader's, so the profile is looked up by its name.
  if (profile_.name != go.profile) {
    const auto named = shelf_.profile_named(go.profile);
    if (!named)
      return Error{Errc::bad_config,
                   fmt::format("the nodes agreed on profile {}, but this node has no such profile: "
                               "copy its file here",
                               go.profile)};
    note_profile(*named);
  }
  return go_on_from(go.checkpoint);
}

void RunMachine::take(const AgreedOnNone& event, TimePoint) {
  agrees_ = false;
  actions_.push_back(PartFromNodes{});
  if (is<Gathering>() && !blocked_.empty()) return end(exit_code_of(Errc::blocked), blocked_);
  say(event.why + "; this node now runs alone, with one attempt");
  if (is<Gathering>()) start(plan_.chain.front());
}

// Where the other nodes may well have no safelaunch, the job starts as it would without one.
void RunMachine::take(const NodesRefused& event, TimePoint now) {
  if (!plan_.party || !plan_.party->certain)
    return take(AgreedOnNone{"warning: no agreement with the other nodes: " + event.error.message},
                now);
  agrees_ = false;
  fail_with(exit_code_of(event.error.code), event.error.message);
}

void RunMachine::take(const EndedByNodes& event, TimePoint) {
  state_ = Idle{};
  ++attempts_;
  actions_.push_back(RecordAttempt{summary_of_given_up(finished(event.record), {})});
  fail_with(event.exit_code, event.why);
}

void RunMachine::take(const EndAgreed& event, TimePoint) {
  agrees_ = false;  // nobody is left to agree with
  record_undecided();
  if (!event.why.empty() && !is_told_here())
    complain((last_.went_well ? "this node's ranks succeeded, but the job failed: " : "") +
             event.why);
  end(event.exit_code, event.why);
}

// Why the run ends on all nodes. The closing screen tells it after an attempt that failed here. An
// attempt that was interrupted needs none where the signal came, nor one that went well.
bool RunMachine::is_told_here() const {
  if (attempts_ == 0) return leads_;
  return last_.interrupted ? signal_here_ : !last_.went_well;
}

void RunMachine::take(const AttemptStarted&, TimePoint) {
  if (attempts_ == 0 && !agrees_ && is<Attempting>())
    actions_.push_back(ProbeBesideAttempt{profile_});
}

void RunMachine::take(const AttemptNotStarted& event, TimePoint) {
  complain(event.error.message);
  const bool agreed = agrees_ && is<Attempting>();
  if (agreed) actions_.push_back(TellNotStarted{event.error});
  // A member leaves the decision to the leader, which knows how the other nodes fared.
  if (agreed && !leads_) return void(state_ = Gathering{});
  end(exit_code_of(event.error.code), event.error.message);
}

void RunMachine::take(const SwitchFound& event, TimePoint) {
  auto* attempting = std::get_if<Attempting>(&state_);
  if (attempting == nullptr || attempting->ended_here) return;
  attempting->for_another = event;
  actions_.push_back(EndAttemptForAnother{});
}

// The leader waits for the news of all nodes, and decides what follows; a member waits for its
// word.
void RunMachine::take(const AttemptEnded& event, TimePoint) {
  auto* attempting = std::get_if<Attempting>(&state_);
  if (attempting == nullptr) return;  // the attempt never started here
  leads_ = event.leads;
  if (!agrees_) return decide(event.attempt);
  last_ = {event.attempt.record.signal.has_value(), went_well(event.attempt.record)};
  report::AttemptSummary summary = summary_here(attempts_ + 1, event.attempt);
  if (leads_) return void(attempting->ended_here = std::move(summary));
  ++attempts_;
  state_ = Gathering{};
  actions_.push_back(RecordAttempt{std::move(summary)});
}

void RunMachine::decide(const EndedAttempt& attempt) {
  const auto attempting = std::get<Attempting>(std::exchange(state_, Idle{}));
  ++attempts_;
  last_ = {attempt.record.signal.has_value(), went_well(attempt.record)};
  // It gave way to another profile, unless it ended by itself, or by a signal, meanwhile.
  if (attempting.for_another && attempt.record.gave_way && !last_.interrupted)
    return switch_profile(attempt, *attempting.for_another);
  last_.went_well ? succeed(attempt) : fail(attempt);
}

// The news of other nodes are missing, so the cause is the one that shows here.
report::AttemptSummary RunMachine::summary_here(int number, const EndedAttempt& attempt) const {
  const FinishedAttempt here{number, profile_.name, attempt.record};
  if (went_well(attempt.record)) return summary_of(here);
  if (attempt.record.gave_way) return summary_of_given_up(here, attempt.record.ended_because);
  return summary_of(here, diagnose::diagnose(attempt.evidence, shelf_.catalogue()), plan_);
}

void RunMachine::succeed(const EndedAttempt& attempt) {
  actions_.push_back(RecordAttempt{summary_of(finished(attempt.record))});
  if (!attempt.record.swept.empty()) actions_.push_back(TellSwept{});
  actions_.push_back(KeepWhatWorked{profile_, attempts_});
  end(0, {});
}

void RunMachine::fail(const EndedAttempt& attempt) {
  diagnose::Evidence evidence = attempt.evidence;
  evidence.confirmations.insert(evidence.confirmations.end(), facts_.begin(), facts_.end());
  const diagnose::Diagnosis diagnosis = diagnose::diagnose(evidence, shelf_.catalogue());
  exit_code_ = diagnose::exit_status_of(attempt.evidence, diagnosis);
  report::AttemptSummary summary = summary_of(finished(attempt.record), diagnosis, plan_);
  if (stands_as_before(attempt) && summary.failure)
    summary.failure->explanation += " The ranks stood at the same places in the attempt before.";
  // A signal that ended the attempt is its cause, and stands in the record already.
  if (!attempt.record.signal) actions_.push_back(RecordCause{diagnosis});
  take_seen(attempt);
  strike(attempt.refuted);
  plan::RunProgress now = progress(diagnosis, tried_, attempts_);
  now.impasse = plan::impasse_of(attempt.evidence, diagnosis);
  plan::NextStep step = plan::next_step(plan_, diagnosis, now);
  if (diagnosis.passes && !warned_) step = step_again(attempt.record, std::move(step));
  if (now.impasse) impasses_.push_back(*now.impasse);
  if (!step.profile) return give_up(std::move(summary), diagnosis, step);
  if (!worth_probing(attempt.evidence, diagnosis, step)) return follow(std::move(summary), step);
  state_ = Probing{std::move(summary), diagnosis};
  actions_.push_back(ProbeCandidates{profile_, candidates_after(diagnosis)});
}

bool RunMachine::stands_as_before(const EndedAttempt& attempt) {
  const std::string places = is_hang(attempt.evidence.failure.kind)
                                 ? ranks::where_ranks_stand(attempt.record.ranks.answers)
                                 : std::string();
  const std::string before = std::exchange(places_, places);
  return !places.empty() && places == before;
}

void RunMachine::switch_profile(const EndedAttempt& attempt, const SwitchFound& found) {
  strike(attempt.refuted);
  follow(summary_of(finished(attempt.record), found.diagnosis, plan_), found.step);
}

void RunMachine::take_seen(const EndedAttempt& attempt) {
  const ranks::RanksSeen& ranks = attempt.record.ranks;
  if (ranks.nccl.version) seen_.nccl = ranks.nccl.version;
  seen_.nccl_spoke = seen_.nccl_spoke || ranks.nccl.any;
  seen_.backends.insert(ranks.backends.begin(), ranks.backends.end());
  seen_.gpu = attempt.gpu;
  // Of ranks without a hook nobody knows how far they came, unless there were none.
  const bool nobody = ranks.world_size == 0 || (ranks.heard && ranks.backends.empty());
  some_came_ = some_came_ || ranks.nccl.any || attempt.record.training || !nobody;
  seen_.came = some_came_;
  some_hooked_ = some_hooked_ || ranks.heard || ranks.world_size == 0;
  seen_.hooked = some_hooked_;
}

// No attempt is wasted on what a probe has seen fail.
void RunMachine::strike(const std::vector<std::string>& refuted) {
  for (const std::string& name : refuted) {
    if (std::ranges::find(tried_, name) != tried_.end()) continue;
    say(fmt::format("skipping {}: a probe showed that it fails here", name));
    tried_.insert(tried_.begin(), name);
  }
}

plan::RunProgress RunMachine::progress(const diagnose::Diagnosis& diagnosis,
                                       std::vector<std::string> tried, int attempts) const {
  plan::RunProgress now{attempts, profile_, std::move(tried), {},      seen_, warned_,
                        agrees_,  {},       impasses_,        resumed_};
  // A healthy run, and one that only starts again, need no further profile.
  if (std::holds_alternative<diagnose::FallBack>(diagnosis.decision))
    now.known = shelf_.all_profiles();
  return now;
}

plan::NextStep RunMachine::step_after(const diagnose::Diagnosis& diagnosis,
                                      std::vector<std::string> tried, int attempts) const {
  return plan::next_step(plan_, diagnosis, progress(diagnosis, std::move(tried), attempts));
}

// Once a run, where NCCL itself failed, or ranks in it: seconds of probing save attempts of
// minutes.
bool RunMachine::worth_probing(const diagnose::Evidence& evidence,
                               const diagnose::Diagnosis& diagnosis,
                               const plan::NextStep& step) const {
  const bool in_nccl =
      seen_.nccl && evidence.failure.stage.value_or(Stage::spawned) >= Stage::group;
  return in_nccl && attempts_ == 1 && step.profile->backend == profile::Backend::keep &&
         std::holds_alternative<diagnose::FallBack>(diagnosis.decision);
}

// All that the chain would take, one after the other, as far as a probe can tell of them.
std::vector<profile::Profile> RunMachine::candidates_after(
    const diagnose::Diagnosis& diagnosis) const {
  std::vector<profile::Profile> candidates;
  std::vector<std::string> tried = tried_;
  while (true) {
    const plan::NextStep step = step_after(diagnosis, tried, attempts_);
    if (!step.profile) return candidates;
    if (step.profile->backend == profile::Backend::keep) candidates.push_back(*step.profile);
    tried.push_back(step.profile->name);
  }
}

void RunMachine::take(const ProfileChosen& event, TimePoint) {
  if (!is<Probing>()) return;
  auto [summary, diagnosis] = std::get<Probing>(std::exchange(state_, Idle{}));
  strike(event.refuted);
  plan::NextStep step = step_after(diagnosis, tried_, attempts_);
  if (!step.profile) return give_up(std::move(summary), diagnosis, step);
  const auto candidates = candidates_after(diagnosis);
  const auto chosen = std::ranges::find(candidates, event.profile, &profile::Profile::name);
  // Where nothing could be probed, or no profile worked there, the order of the chain decides.
  if (chosen != candidates.end()) {
    step.profile = *chosen;
    step.why = "a probe showed that it works here, and none is faster";
  }
  follow(std::move(summary), step);
}

void RunMachine::follow(report::AttemptSummary summary, const plan::NextStep& step) {
  summary.next = step.profile->name + ": " + step.why;
  summary.resumes = step.resumes;
  actions_.push_back(RecordAttempt{std::move(summary)});
  actions_.push_back(TellFallback{step});
  if (step.other_port) former_port_ = plan::FormerPort::was_taken;
  if (step.profile->name == profile_.name && !step.resumes) ++retries_of_profile_;
  state_ = Waiting{*step.profile, step.wait};
  actions_.push_back(AwaitGpuMemory{});
}

void RunMachine::take(const MemoryBack& event, TimePoint now) {
  const auto* waiting = std::get_if<Waiting>(&state_);
  if (waiting == nullptr) return;
  if (event.stuck) return end(exit_code_, event.trouble);
  if (!event.trouble.empty()) say("warning: " + event.trouble);
  if (waiting->pause == Duration::zero()) return start(profile::Profile(waiting->profile));
  state_ = Pausing{waiting->profile, now + waiting->pause};
}

void RunMachine::take(const PauseOver&, TimePoint now) {
  const auto* pausing = std::get_if<Pausing>(&state_);
  if (pausing != nullptr && now >= pausing->until) start(profile::Profile(pausing->profile));
}

// Slurm signals the task and then all processes of its step, and a wrapper may add a TERM to the
// terminal's INT: a second one that comes at once is no wish of a person who does not want to wait.
// Only two of a kind from the terminal are keys that somebody has pressed twice. A QUIT or HUP
// beside another signal kills nothing, and is passed on.
bool RunMachine::is_echo(const launch::ReceivedSignal& event, TimePoint now) {
  const Heard former = std::exchange(heard_, {event.signal, event.sender, now});
  const bool keys = event.sender == 0 && former.sender == 0 && event.signal == former.signal;
  const bool insists = launch::is_insisting(event.signal) && launch::is_insisting(former.signal);
  return (event.signal == former.signal || insists) && !keys && now - former.at < kEchoWithin;
}

void RunMachine::take(const launch::ReceivedSignal& event, TimePoint now) {
  const auto* attempting = std::get_if<Attempting>(&state_);
  const bool ends = ends_a_job(event.signal) && !event.ignored;
  if (ends && is_echo(event, now)) return;
  if (agrees_ && ends) actions_.push_back(TellSignal{event.signal});
  signal_here_ = signal_here_ || ends;
  warned_ = warned_ || event.signal == SIGUSR1 || event.signal == SIGUSR2;
  // A scheduler signals all nodes at once. Where another's signal was faster, this is no second
  // one, which would kill the ranks while they save.
  if (ends && std::exchange(passed_on_, false)) return;
  if (attempting != nullptr && !attempting->ended_here)
    return actions_.push_back(SignalAttempt{event});
  // Nothing of the job is there yet that could make a word of it.
  const bool before_the_job = is<Idle>() || is<Checking>();
  if (!ends && before_the_job && ends_what_does_not_handle_it(event) && !agrees_)
    return end_by(event.signal);
  // Between two attempts there is nothing to be stopped but our own waiting.
  if (!ends) return drop_next_attempt();
  // The other nodes answer at once; a person who asks twice does not wait for them.
  if (agrees_ && !std::exchange(signalled_, true)) return;
  agrees_ = false;
  record_undecided();
  end_by(event.signal);
}

// The end of the job has been announced while the next attempt waited for memory or a port.
void RunMachine::drop_next_attempt() {
  if (warned_ && (is<Waiting>() || is<Pausing>())) end(exit_code_, plan::describe_warning());
}

// The attempt of which nothing has been decided yet belongs to the report all the same.
void RunMachine::record_undecided() {
  if (auto* probing = std::get_if<Probing>(&state_))
    actions_.push_back(RecordAttempt{std::move(probing->summary)});
  auto* attempting = std::get_if<Attempting>(&state_);
  if (attempting == nullptr || !attempting->ended_here) return;
  ++attempts_;
  actions_.push_back(RecordAttempt{*std::move(attempting->ended_here)});
}

// People read the end of a screen; a program takes the end for the object that it asked for.
void RunMachine::give_up(report::AttemptSummary summary, const diagnose::Diagnosis& diagnosis,
                         const plan::NextStep& step) {
  actions_.push_back(RecordAttempt{std::move(summary)});
  actions_.push_back(TellStruckOut{step});
  if (plan_.options.json) actions_.push_back(TellFirstFailure{diagnosis});
  end(exit_code_, step.why);
  if (!plan_.options.json) actions_.push_back(TellFirstFailure{diagnosis});
}

void RunMachine::end_by(int signal) {
  end(128 + signal, "interrupted by " + signal_name(signal));
}

void RunMachine::fail_with(int exit_code, const std::string& why) {
  complain(why);
  end(exit_code, why);
}

// Where nodes agree, the run goes on until EndAgreed has come back: else this node would leave
// while the others still wait for it.
void RunMachine::end(int exit_code, std::string stopped_because) {
  if (agrees_) {
    state_ = Gathering{};
    return actions_.push_back(ProposeEnd{exit_code, std::move(stopped_because)});
  }
  state_ = Over{};
  actions_.push_back(EndRun{exit_code, std::move(stopped_because)});
}

}  // namespace safelaunch::run
