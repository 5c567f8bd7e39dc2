#include "attempt_machine.h"

#include <csignal>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/diagnose/failure_words.h"
#include "safelaunch/ranks/rank_questions.h"

// Every event has a function, which asks for the state and adds the actions that it wants to
// actions_. The first reason to end an attempt decides how it is stopped, and every later one can
// only make the stop harder: how ranks and launcher end once they are being stopped is no news of
// theirs.
namespace safelaunch::run {
namespace {

// torchrun looks at its workers ten times a second, deepspeed once: a launcher that sees the
// failure of a rank by itself has this long to say so before the attempt is stopped.
constexpr Duration kLauncherReacts{2'500};

// After the verdict the ranks are asked what they are doing; one that holds the GIL does not
// answer.
constexpr Duration kAnswersWithin{1'000};

// A hook answers within milliseconds; nobody who has pressed Ctrl-C notices this.
constexpr Duration kAnswersBeforeSignal{250};

// Most jobs end at once after a signal, and what they say then is enough.
constexpr Duration kUnexplainedSilence{2'000};

// A server that cannot listen ends by itself, or waits for its ranks for ever.
constexpr Duration kServerEnds{10'000};

// A rank that ends by the same signal later than this was told so by somebody else.
constexpr Duration kActsOnSignalWithin{60'000};

// A reader that is suspended, or a terminal that is held by Ctrl-S, must not keep a job from its
// end.
constexpr Duration kReaderTakesTheRest{2'000};

// A launcher whose rank has failed ends the others by itself, and its words are the user's. It
// takes a rank that ended with 0 for a success, so it does not end the job then.
bool launcher_will_end_it(const Failure& verdict, const AttemptRules& rules) {
  if (rules.own_spawn || is_stuck(verdict.kind) || rules.launcher == job::Launcher::opaque)
    return false;
  for (const MissingRank& suspect : verdict.missing)
    if (suspect.status && succeeded(*suspect.status)) return false;
  return true;
}

// Its agent takes every hangup for its own end, accelerate's as well.
bool is_torchrun(job::Launcher launcher) {
  return launcher == job::Launcher::torchrun || launcher == job::Launcher::accelerate;
}

launch::StopWanted sweep() {
  return {launch::StopMode::sweep, SIGTERM, launch::kSweepGrace};
}

}  // namespace

bool ends_a_job(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

std::vector<AttemptAction> AttemptMachine::on(const AttemptEvent& event, TimePoint now) {
  actions_.clear();
  std::visit([&](const auto& one) { take(one, now); }, event);
  return std::exchange(actions_, {});
}

std::optional<TimePoint> AttemptMachine::deadline() const {
  if (const auto* running = std::get_if<Running>(&state_)) return running->launcher_reacts_until;
  if (const auto* stopping = std::get_if<Stopping>(&state_)) return stopping->explain_at;
  if (const auto* draining = std::get_if<Draining>(&state_)) return draining->until;
  return std::nullopt;
}

// The workers that have started already are killed at once: none of them has anything to save.
void AttemptMachine::take(const StartFailed&, TimePoint) {
  if (runs()) begin_stop({launch::StopMode::now, SIGKILL, {}});
}

void AttemptMachine::take(const WorkerEnded& event, TimePoint now) {
  const bool asked_to_end = outcome_.signal && is<Stopping>();
  if (!runs() && !asked_to_end) return;  // its end is our doing
  if (!succeeded(event.status)) note_failure(now);
  // The first failure is the status that counts, because later ones are mostly its consequences.
  if (!outcome_.command || succeeded(*outcome_.command)) outcome_.command = event.status;
  // Whoever started the ranks has made a success of it: one that failed was caught.
  if (runs() && !event.rank && succeeded(event.status) && outcome_.verdict &&
      !is_stuck(outcome_.verdict->kind))
    outcome_.verdict.reset();
  // Only a failed rank of our own spawn ends the others here: a launcher sees to its ranks itself.
  if (!runs() || !event.rank || succeeded(event.status) || !event.others_run) return;
  if (ended_as_told(event.status, now)) return;
  if (const auto* explaining = std::get_if<Explaining>(&state_))
    return explain_and_stop(Explaining(*explaining), {}, now);
  // As torchrun does: a world that lacks a rank is over. In training the others may save first.
  if (event.trained) return begin_stop({launch::StopMode::polite, SIGTERM, rules_.grace.in_all});
  make_way();
}

// A main process that a signal killed has asked none of its children to end, so the stop must know.
// One that is a rank itself (Lightning's) may be through before the others, which may still save.
void AttemptMachine::take(const AllWorkersEnded& event, TimePoint) {
  const bool killed = outcome_.command && std::holds_alternative<Signaled>(*outcome_.command);
  actions_.push_back(NoteMainEnded{
      {killed ? launch::MainEnded::How::by_signal : launch::MainEnded::How::by_itself}});
  if (!runs()) return;
  const bool success = outcome_.command && succeeded(*outcome_.command);
  begin_stop(success && event.ranks_live
                 ? launch::StopWanted{launch::StopMode::await, SIGTERM, launch::kOrphansSave}
                 : sweep());
}

// Also one that falls while the attempt is being stopped counts: NCCL's log is read once more then,
// and may show what no stage has shown.
void AttemptMachine::take(const VerdictFell& event, TimePoint now) {
  const auto as_told = [&](const MissingRank& one) {
    return one.status && ended_as_told(*one.status, now);
  };
  if (is<Running>() && is_death(event.verdict.kind) &&
      std::ranges::any_of(event.verdict.missing, as_told)) {
    // A person wants the end, and before the first collective there is nothing to save.
    if (passed_on_->by_key && !event.trained) state_ = Running{now + kLauncherReacts, {}};
    return;
  }
  outcome_.verdict = event.verdict;
  note_failure(now);
  trained_ = event.trained;
  actions_.push_back(RecordVerdict{event.verdict});
  actions_.push_back(RecordSegments{});
  if (!is<Running>()) return;
  if (launcher_will_end_it(event.verdict, rules_))
    return void(state_ = Running{now + kLauncherReacts, {}});
  state_ = Asking{event.ras_may_be_asked ? 2 : 1};
  if (event.ras_may_be_asked) actions_.push_back(AskRas{});
  actions_.push_back(AskRanks{kAnswersWithin});
}

void AttemptMachine::take(const TrainingBegan& event, TimePoint) {
  outcome_.training = true;
  outcome_.serves = event.serves;
  outcome_.timed_out.reset();
  actions_.push_back(RecordSegments{});
  if (const auto* running = std::get_if<Running>(&state_); running && running->cannot_serve)
    state_ = Running{};  // it has tried again
}

// The job goes on while its ranks are asked: a standstill may be a long evaluation.
void AttemptMachine::take(const TrainingStalled& event, TimePoint now) {
  auto* running = std::get_if<Running>(&state_);
  if (running == nullptr) return;
  if (!stands_since_ && event.report.working.empty())
    stands_since_ = now - event.report.silent_for - event.report.unsure;
  running->stall = event.report;
  actions_.push_back(AskRanks{kAnswersWithin});
}

// Where it is over before the ranks have answered, nobody has heard of it. Collectives that can
// never meet have failed by a timeout of their own: gloo counts those among the finished.
void AttemptMachine::take(const TrainingMoves& event, TimePoint) {
  auto* running = std::get_if<Running>(&state_);
  if (running == nullptr || never_meet_) return;
  stands_since_.reset();
  outcome_.standstill.clear();
  outcome_.timed_out.reset();
  const auto untold = std::exchange(running->stall, std::nullopt);
  if (untold && !untold->again) return;
  tell({describe_duration(event.stood), std::string(report::record::Stall::kOver)});
}

// The others are asked before the launcher ends them. In training their answers tell who is behind.
void AttemptMachine::take(const WaitTimedOut& event, TimePoint now) {
  const auto* running = std::get_if<Running>(&state_);
  if (running == nullptr) return;
  Failure wait{.kind = FailureKind::stalled, .stage = Stage::collective};
  if (stands_since_) wait.waited = std::chrono::duration_cast<Duration>(now - *stands_since_);
  outcome_.timed_out = event.wait.value_or(std::move(wait));
  outcome_.timed_out_at = now;
  if (!running->stall) actions_.push_back(AskRanks{kAnswersWithin});
}

void AttemptMachine::take(const ServeFailed& event, TimePoint now) {
  const auto* running = std::get_if<Running>(&state_);
  if (running == nullptr || running->launcher_reacts_until) return;
  state_ = Running{now + kServerEnds, {}, event.status};
}

void AttemptMachine::take(const RanksAnswered& event, TimePoint now) {
  if (is<Asking>()) return one_has_answered();
  if (auto* running = std::get_if<Running>(&state_); running != nullptr && running->stall)
    return tell_stall(*std::exchange(running->stall, std::nullopt), event.answers, now);
  if (const auto* explaining = std::get_if<Explaining>(&state_))
    explain_and_stop(Explaining(*explaining), event.answers, now);
}

void AttemptMachine::end_server(int status, TimePoint now) {
  note_failure(now);
  outcome_.command = Exited{status};
  actions_.push_back(
      TellUser{fmt::format("the server cannot listen, and has not ended within {}: it is ended now",
                           describe_duration(kServerEnds))});
}

// What training had stood still for a while had failed then already.
void AttemptMachine::note_failure(TimePoint now) {
  if (!outcome_.failed_at) outcome_.failed_at = stands_since_.value_or(now);
}

void AttemptMachine::tell(report::record::Stall line) {
  line.serves = outcome_.serves;
  actions_.push_back(RecordStall{line});
  actions_.push_back(TellUser{in_words(line)});
}

void AttemptMachine::hide_output() {
  actions_.push_back(KeepOutput{});
  actions_.push_back(HideOutput{});
}

namespace {

report::record::Stall line_of(Failure verdict, const ranks::RankAnswers& answers,
                              std::string_view phase) {
  report::record::Stall line{.text = describe(verdict), .phase = std::string(phase)};
  for (MissingRank& missing : verdict.missing) {
    ranks::put_place(answers, missing);
    line.ranks.push_back(missing.rank.value);
  }
  line.places = diagnose::places_of(verdict.missing);
  return line;
}

}  // namespace

void AttemptMachine::tell_stall(const watch::StallReport& report, const ranks::RankAnswers& answers,
                                TimePoint now) {
  const Failure verdict = ranks::verdict_of(report, answers);
  never_meet_ = !watch::compare(answers.collectives).contradiction.empty();
  using report::record::Stall;
  if (!report.working.empty()) return tell(line_of(verdict, answers, Stall::kWorks));
  outcome_.standstill = describe(verdict);
  tell(line_of(verdict, answers, report.again ? Stall::kAgain : ""));
  if (!rules_.kill_on_stall || report.all_ended) return;
  outcome_.verdict = verdict;
  note_failure(now);
  actions_.push_back(RecordVerdict{verdict});
  actions_.push_back(KeepOutput{});
  begin_stop({launch::StopMode::polite, SIGTERM, rules_.grace.in_all});
}

void AttemptMachine::one_has_answered() {
  if (--std::get<Asking>(state_).unanswered == 0) stop_lost();
}

// A stuck job and its launcher complain of the TERM that we send: no news, and no evidence.
void AttemptMachine::stop_lost() {
  if (outcome_.verdict && is_stuck(outcome_.verdict->kind)) hide_output();
  trained_ ? begin_stop(sweep()) : make_way();
}

// A signal that was ignored at the start ends nothing by itself; only the job may make something of
// it. But torchrun ends at every hangup, and whoever says nohup wants the job to outlive it.
void AttemptMachine::take(const SignalCame& event, TimePoint now) {
  if (event.ignored && event.signal == SIGHUP && is_torchrun(rules_.launcher)) return;
  if (event.ignored || !ends_a_job(event.signal)) {
    if (ends_a_job(event.signal)) passed_on_ = {event.signal, now};
    return actions_.push_back(ForwardSignal{event.signal, event.origin});
  }
  const bool first = is<Running>();
  note(event);
  if (is<Draining>()) return take(OutputDrained{}, now);  // the rest of it is not waited for
  if (first && (event.waiting || launch::is_insisting(event.signal))) {
    state_ = Explaining{event};
    return actions_.push_back(AskRanks{kAnswersBeforeSignal, ranks::Whom::imported});
  }
  if (first) return stop_and_explain_later(event, now);
  if (const auto* explaining = std::get_if<Explaining>(&state_))
    explain_and_stop(Explaining(*explaining), {}, now);
  if (is<Asking>()) stop_lost();  // whose answers nobody waits for now
  if (is<Stopping>()) stop_as_the_user_wants(event);
}

// The rank has no handler for a signal that we only passed on, or its launcher had, and ends its
// ranks. The others may well have one, and save: they have as long as after a signal that was not
// ignored.
bool AttemptMachine::ended_as_told(const ExitStatus& status, TimePoint now) {
  const auto* killed = std::get_if<Signaled>(&status);
  if (!passed_on_ || now - passed_on_->at > kActsOnSignalWithin || killed == nullptr ||
      !ends_a_job(killed->signal))
    return false;
  outcome_.signal = passed_on_->signal;
  return true;
}

// A job that is still there after a while is explained, so that a person does not take a long
// checkpoint for a hang and kill it, and knows of a hang where it stands.
void AttemptMachine::stop_and_explain_later(const SignalCame& event, TimePoint now) {
  stop_as_the_user_wants(event);
  if (launch::is_insisting(event.signal))
    state_ = Stopping{now + kUnexplainedSilence, event.signal};
}

// A signal that comes while the attempt is stopped for another reason is not the reason, but the
// run must not go on after it. An attempt that gave way has no reason of its own, so there the
// signal is the reason.
void AttemptMachine::note(const SignalCame& event) {
  if (is<Running>() || outcome_.gave_way)
    outcome_.signal = event.signal;
  else if (!outcome_.signal)
    outcome_.late_signal = event.signal;
}

// The segments are kept, because no other attempt follows that would need their room. Ranks that
// wait for each other have nothing to save yet.
void AttemptMachine::stop_as_the_user_wants(const SignalCame& event) {
  const bool clock_runs = rules_.grace.from_first_signal || event.waiting;
  const auto grace = clock_runs ? std::optional(rules_.grace.in_all) : std::nullopt;
  begin_stop({launch::StopMode::polite, event.signal, grace}, Segments::keep, event.origin);
}

void AttemptMachine::explain_and_stop(const Explaining& explaining,
                                      const ranks::RankAnswers& answers, TimePoint now) {
  const SignalCame& told = explaining.told;
  if (!told.waiting) {
    met_ = {told.signal, ranks::where_ranks_stand(answers),
            answers.stacks.size() + answers.silent.size() == 1};
    return stop_and_explain_later(told, now);
  }
  const std::string who = signal_name(told.signal);
  actions_.push_back(
      TellUser{fmt::format("{}: {}", who, ranks::who_waits_for_whom(*told.waiting, answers))});
  actions_.push_back(
      TellUser{time_to_save(told.signal == SIGINT ? "Ctrl-C again" : "A second " + who, true)});
  stop_as_the_user_wants(told);
}

std::string AttemptMachine::time_to_save(const std::string& again, bool waiting) const {
  if (!waiting && !rules_.grace.from_first_signal)
    return fmt::format("passed on; the job may save as long as it needs. {} kills it now", again);
  return fmt::format("stopping; the ranks get {} to save (--grace). {} kills them now",
                     describe_duration(rules_.grace.of_ranks), again);
}

// Its last words are of our making, as those of a stuck job. Where a rank has died the attempt has
// failed by itself, and its own cause counts.
void AttemptMachine::take(const WayWanted&, TimePoint) {
  const auto* running = std::get_if<Running>(&state_);
  if (running == nullptr || running->launcher_reacts_until) return;
  outcome_.gave_way = true;
  hide_output();
  make_way();
}

// Nobody is told, and nothing is saved: another node may start the same ranks in a moment.
void AttemptMachine::take(const KillWanted&, TimePoint) {
  if (is<Draining>() || is<Over>()) return;
  outcome_.gave_way = outcome_.gave_way || runs();
  begin_stop({launch::StopMode::now, SIGKILL, {}});
}

// Once the training has begun no other attempt follows, so nothing has to be removed for one.
void AttemptMachine::make_way() {
  begin_stop(sweep(), outcome_.training ? Segments::keep : Segments::remove);
}

void AttemptMachine::begin_stop(const launch::StopWanted& wanted, Segments segments,
                                launch::SignalOrigin asked_by) {
  // The segments are looked for before the first signal, while the processes have them mapped.
  if (!is<Stopping>()) {
    actions_.push_back(EndWatching{});
    actions_.push_back(TakeSegments{segments == Segments::remove});
  }
  state_ = Stopping{};
  actions_.push_back(StopJob{wanted, asked_by});
}

void AttemptMachine::take(const TreeGone& event, TimePoint now) {
  if (is<Draining>() || is<Over>()) return;
  const bool asked_to_end = outcome_.signal || outcome_.late_signal;
  state_ = Draining{asked_to_end ? std::optional(now + kReaderTakesTheRest) : std::nullopt};
  if (event.output_drained) return take(OutputDrained{}, now);
  actions_.push_back(FinishOutput{});
}

// A job outlives its logs.
void AttemptMachine::take(const RecordingStopped& event, TimePoint) {
  actions_.push_back(
      TellUser{fmt::format("warning: {} is not complete: {}; the job goes on without it",
                           event.loss.path.native(), event.loss.reason)});
}

void AttemptMachine::take(const OutputDrained&, TimePoint) {
  if (!is<Draining>()) return;
  // The traceback of a single process that Ctrl-C ends tells the same.
  if (!met_.alone || met_.signal != SIGINT) tell_what_the_signal_met();
  state_ = Over{};
  actions_.push_back(AttemptOver{});
}

void AttemptMachine::take(const AttemptTimePassed&, TimePoint now) {
  const auto due = deadline();
  if (!due || now < *due) return;
  if (const auto* running = std::get_if<Running>(&state_)) {
    if (running->cannot_serve) end_server(*running->cannot_serve, now);
    return stop_lost();
  }
  if (is<Draining>()) return take(OutputDrained{}, now);
  auto& stopping = std::get<Stopping>(state_);
  stopping.explain_at.reset();
  tell_what_the_signal_met();
  actions_.push_back(TellUser{
      fmt::format("{}: {}", signal_name(stopping.signal), time_to_save("A second one", false))});
}

void AttemptMachine::tell_what_the_signal_met() {
  const std::string standing = std::exchange(met_.standing, {});
  if (standing.empty()) return;
  actions_.push_back(TellUser{fmt::format("{} came to {}", signal_name(met_.signal), standing)});
}

}  // namespace safelaunch::run
