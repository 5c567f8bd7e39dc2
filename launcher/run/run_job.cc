#include "safelaunch/run/run_job.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>

#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/redact.h"
#include "safelaunch/diagnose/first_failure.h"
#include "safelaunch/doctor/examine.h"
#include "safelaunch/doctor/render.h"
#include "safelaunch/host/cgroup_memory.h"
#include "safelaunch/launch/guardian.h"
#include "safelaunch/output/terminal_writer.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/report/html_report.h"
#include "safelaunch/report/run_directory.h"
#include "safelaunch/report/summary.h"
#include "safelaunch/run/attempt_spec.h"
#include "safelaunch/run/evidence.h"
#include "safelaunch/run/gpu_memory.h"
#include "safelaunch/run/next_step.h"
#include "safelaunch/run/port_choice.h"
#include "safelaunch/run/port_facts.h"
#include "safelaunch/run/preflight.h"
#include "safelaunch/run/probe_beside.h"
#include "safelaunch/run/records.h"

namespace safelaunch {
namespace {

// The job's own words and ours have this long to reach a slow reader after the job has ended.
constexpr Duration kLastWords{5'000};

// Everything of one run. Its handlers follow each other in the order in which they stand here.
class Run {
 public:
  explicit Run(RunPlan plan)
      : plan_(std::move(plan)),
        streams_(inspect_streams()),
        run_id_(new_run_id()),
        began_(Clock::now()),
        reaper_(io_, [](int, const ExitStatus&) {}),
        guardian_(io_),
        signals_(io_, [this](const ReceivedSignal& received) { on_signal(received); }),
        terminal_(io_, streams_),
        gpu_memory_(io_, reaper_, plan_.environment),
        pause_(io_) {}

  int run() {
    ignore_output_signals();
    set_log_writer([this](std::string_view line) { terminal_.write_message(line); });
    if (const Result<void> opened = open_record(); !opened) return refuse(opened.error());
    for (const std::string& warning : plan_.warnings) say("warning: " + warning);
    if (const Result<void> checked = check_host(); checked)
      start_attempt(plan_.chain.front());
    else
      give_up(checked.error());
    io_.run();
    terminal_.flush(kLastWords);
    return exit_code_;
  }

 private:
  Result<void> open_record();
  Result<void> check_host();
  void start_attempt(const Profile& profile);
  Result<void> try_to_start(const Profile& profile);
  [[nodiscard]] Attempt::Observer attempt_observer();
  void probe_beside(const Profile& profile);
  [[nodiscard]] std::optional<HookDoor> hook_door();
  [[nodiscard]] Services services() { return {io_, reaper_, terminal_, log_}; }
  void on_attempt_end(const AttemptRecord& record);
  void on_failure(const AttemptRecord& record);
  void on_switched();
  [[nodiscard]] RunProgress progress(const Diagnosis& diagnosis, std::vector<std::string> tried);
  [[nodiscard]] Evidence evidence_of(const AttemptRecord& record) const;
  void strike_refuted();
  void go_on(const NextStep& step);
  void start_after(Duration wait, const Profile& profile);
  void close(std::string stopped_because);
  void give_up(const Error& error);
  void on_signal(const ReceivedSignal& received);
  void tell_of_fallback(const Diagnosis& diagnosis, const NextStep& step);
  [[nodiscard]] bool speaks_for_itself(const AttemptRecord& record,
                                       const Diagnosis& diagnosis) const;
  [[nodiscard]] std::string last_words(const AttemptRecord& record, StdStream stream,
                                       std::optional<Rank> rank) const;
  void tell_of_first_failure(const AttemptRecord& record, const Diagnosis& diagnosis);
  void tell_of_lost_output();
  void remember_what_worked();
  [[nodiscard]] std::span<const Profile> known_profiles();
  int refuse(const Error& error);
  void say(std::string_view text);

  RunPlan plan_;
  StandardStreams streams_;
  std::string run_id_;
  TimePoint began_;
  boost::asio::io_context io_{1};
  Reaper reaper_;
  GuardianWatch guardian_;
  SignalIntake signals_;
  TerminalWriter terminal_;
  GpuMemory gpu_memory_;
  boost::asio::steady_timer pause_;
  RunDirectory directory_;
  EventLog log_;
  RunSummary summary_;

  std::unique_ptr<Attempt> attempt_;
  const Profile* profile_ = nullptr;
  std::optional<ProbeBeside> probe_;  // beside the first attempt
  struct Switch {
    Diagnosis diagnosis;
    NextStep step;
  };
  std::optional<Switch> switch_;  // to another profile, for what the probe has shown
  std::optional<PortLease> port_;
  FormerPort former_port_ = FormerPort::none;
  std::optional<std::int64_t> oom_kills_before_;  // the attempt
  int retries_of_profile_ = 0;
  std::vector<std::string> tried_;
  std::vector<Profile> known_;
  std::optional<int> interrupted_;
  int exit_code_ = 125;
};

void Run::say(std::string_view text) {
  if (plan_.options.verbosity != Verbosity::quiet)
    terminal_.write_message(fmt::format("safelaunch: {}", text));
}

int Run::refuse(const Error& error) {
  terminal_.write_message("safelaunch: " + error.message);
  terminal_.flush(kLastWords);
  return exit_code_of(error.code);
}

Result<void> Run::open_record() {
  Result<RunDirectory> made =
      RunDirectory::create(plan_.options.run_dir, run_id_, plan_.environment);
  if (!made) return made.error();
  directory_ = std::move(*made);
  if (!directory_.trouble().empty()) say("warning: " + directory_.trouble());
  summary_.run_id = run_id_;
  summary_.command = redact(plan_.options.command);
  if (directory_.path().empty()) return {};
  summary_.directory = directory_.path().native();
  log_ = EventLog(directory_.path() / "events.jsonl", began_);
  log_.record("run", {{"run", run_id_}, {"command", summary_.command}});
  write_job_file(directory_, plan_, run_id_);
  return {};
}

Result<void> Run::check_host() {
  if (!plan_.options.preflight) return {};
  for (const std::string& line : clean_before_run(plan_)) say(line);
  std::string blocked;
  for (const Finding& finding : examine_host(plan_)) {
    log_.record("finding", {{"id", finding.cause},
                            {"severity", name(finding.severity)},
                            {"evidence", finding.evidence},
                            {"remedy", finding.remedy}});
    if (blocks(finding))
      blocked += fmt::format("{}blocked: {}",
                             blocked.empty() ? "" : "\nsafelaunch: ", in_one_line(finding));
    else
      say("risk: " + in_one_line(finding));
  }
  if (blocked.empty()) return {};
  return Error{Errc::blocked, blocked + " (--no-preflight runs it all the same)"};
}

void Run::start_attempt(const Profile& profile) {
  profile_ = &profile;
  if (tried_.empty() || tried_.back() != profile.name) {
    tried_.push_back(profile.name);
    retries_of_profile_ = 0;
  }
  if (const Result<void> started = try_to_start(profile); !started) return give_up(started.error());
  if (summary_.attempts.empty()) probe_beside(profile);
}

Result<void> Run::try_to_start(const Profile& profile) {
  port_.reset();
  Result<PortChoice> port = choose_port(plan_, former_port_);
  if (!port) {
    log_.record("finding", {{"id", "port-taken"},
                            {"severity", name(Severity::blocks)},
                            {"evidence", port.error().message},
                            {"remedy", "--port auto"}});
    return port.error();
  }
  if (!port->notice.empty()) say(port->notice);
  port_ = std::move(port->lease);

  oom_kills_before_ = oom_kills_of_our_cgroup();
  const int number = static_cast<int>(summary_.attempts.size()) + 1;
  const std::filesystem::path directory = directory_.attempt(number, profile.name);
  AttemptInputs inputs{
      plan_, profile, number, run_id_, directory, {}, {}, open_nccl_door(directory), streams_};
  if (port_) inputs.port = port_->port();
  inputs.hook = hook_door();
  Result<SettledAttempt> settled = settle(inputs);
  if (!settled) return settled.error();
  if (!settled->notice.empty() && summary_.attempts.empty()) say(settled->notice);
  write_env_diff(inputs.directory, settled->differences);
  attempt_ = std::make_unique<Attempt>(services(), std::move(settled->spec), attempt_observer());
  return attempt_->start();
}

Attempt::Observer Run::attempt_observer() {
  Attempt::Observer observer;
  observer.on_meeting = [this] {
    if (probe_) probe_->ranks_meet();
  };
  observer.on_stopping = [this] {
    if (probe_) probe_->end();
  };
  observer.on_end = [this](const AttemptRecord& record) { on_attempt_end(record); };
  return observer;
}

// While the workers import: what the probe finds out costs the job no time.
void Run::probe_beside(const Profile& profile) {
  Result<ProbeMeans> means = means_to_probe(plan_, profile);
  if (!means) {
    const bool asked_for = plan_.options.probe == WhenToProbe::always;
    return asked_for ? say("warning: no probe: " + means.error().message)
                     : log_debug("no probe: " + means.error().message);
  }
  const auto next = [this](const Diagnosis& diagnosis, const std::vector<std::string>& tried) {
    RunProgress after_this = progress(diagnosis, tried);
    ++after_this.attempts;
    return next_step(plan_, diagnosis, after_this);
  };
  probe_.emplace(services(), plan_, std::move(*means), next,
                 [this](const Diagnosis& diagnosis, const NextStep& step) {
                   switch_ = Switch{diagnosis, step};
                   attempt_->give_way();
                 });
  probe_->begin(profile);
}

// A hook that cannot be installed is no reason to run nothing: /proc shows the ranks too.
std::optional<HookDoor> Run::hook_door() {
  const HookGuests guests{plan_.options.hook, plan_.options.plugin};
  if (!guests.hook && !guests.plugin) return std::nullopt;
  Result<HookDoor> door = open_hook_door(guests, plan_.environment, directory_.path());
  if (door) return std::move(*door);
  say("warning: " + door.error().message);
  return std::nullopt;
}

void Run::on_signal(const ReceivedSignal& received) {
  if (attempt_) return attempt_->signal(received);
  // Between two attempts there is nothing to be stopped but our own waiting.
  if (!ends_a_job(received.signal)) return;
  interrupted_ = received.signal;
  exit_code_ = 128 + received.signal;
  close("interrupted by " + signal_name(received.signal));
}

void Run::on_attempt_end(const AttemptRecord& record) {
  AttemptSummary attempt;
  attempt.number = static_cast<int>(summary_.attempts.size()) + 1;
  attempt.profile = profile_->name;
  attempt.took = record.took;
  attempt.stages = record.stages;
  summary_.attempts.push_back(attempt);
  for (const Survivor& survivor : record.survivors)
    say(fmt::format("warning: pid {} was killed and does not end (state {})", survivor.pid,
                    survivor.state));
  if (record.gave_way && !record.signal) return on_switched();
  if (!went_well(record)) return on_failure(record);
  exit_code_ = 0;
  summary_.cost = profile_->cost == Cost::none ? "" : cost_in_words(plan_, *profile_);
  remember_what_worked();
  close({});
}

Evidence Run::evidence_of(const AttemptRecord& record) const {
  AttemptContext context;
  context.launcher = plan_.command.launcher;
  context.autotuning = plan_.command.autotuning;
  context.retries_of_profile = retries_of_profile_;
  if (port_)
    context.port =
        RendezvousPort{port_->port(), plan_.options.port == "keep" ? RendezvousPort::Choice::users
                                                                   : RendezvousPort::Choice::ours};
  if (const auto kills = oom_kills_of_our_cgroup(); kills && oom_kills_before_)
    context.oom_kills = static_cast<int>(*kills - *oom_kills_before_);
  Evidence evidence = make_evidence(record, context);
  std::ranges::move(
      port_facts(evidence, record.ranks.knocking, Catalogue::builtin(), KernelSockets()),
      std::back_inserter(evidence.confirmations));
  return evidence;
}

void Run::on_failure(const AttemptRecord& record) {
  const Evidence evidence = evidence_of(record);
  const Diagnosis diagnosis = diagnose(evidence, Catalogue::builtin());
  exit_code_ = exit_status_of(evidence, diagnosis);
  AttemptSummary& attempt = summary_.attempts.back();
  attempt.end = end_of(record, diagnosis);
  describe_in(attempt, diagnosis);
  attempt.told_by_itself = speaks_for_itself(record, diagnosis);
  log_.record("cause", {{"id", diagnosis.cause},
                        {"certainty", std::string(name(diagnosis.certainty))},
                        {"text", diagnosis.explanation}});
  strike_refuted();
  const NextStep step = next_step(plan_, diagnosis, progress(diagnosis, tried_));
  if (step.profile == nullptr) {
    close(step.why);
    return tell_of_first_failure(record, diagnosis);
  }
  attempt.next = step.profile->name + ": " + step.why;
  tell_of_fallback(diagnosis, step);
  go_on(step);
}

RunProgress Run::progress(const Diagnosis& diagnosis, std::vector<std::string> tried) {
  // All that there are is read only where one of them may be needed.
  const bool falls_back = std::holds_alternative<FallBack>(diagnosis.decision);
  return {static_cast<int>(summary_.attempts.size()), profile_, std::move(tried),
          falls_back ? known_profiles() : std::span<const Profile>{}};
}

// No attempt is wasted on what the probe has shown to fail.
void Run::strike_refuted() {
  if (!probe_) return;
  for (const std::string& name : probe_->refuted()) {
    if (std::ranges::find(tried_, name) != tried_.end()) continue;
    say(fmt::format("not {}: a probe showed that it fails here", name));
    tried_.insert(tried_.begin(), name);
  }
}

void Run::on_switched() {
  AttemptSummary& attempt = summary_.attempts.back();
  attempt.end = AttemptEnd::given_up;
  describe_in(attempt, switch_->diagnosis);
  attempt.next = switch_->step.profile->name + ": " + switch_->step.why;
  strike_refuted();
  tell_of_fallback(switch_->diagnosis, switch_->step);
  go_on(switch_->step);
}

void Run::go_on(const NextStep& step) {
  attempt_.reset();
  former_port_ = step.other_port ? FormerPort::was_taken : former_port_;
  if (step.profile == profile_) ++retries_of_profile_;
  gpu_memory_.when_back([this, profile = step.profile, wait = step.wait](const std::string& why) {
    if (!why.empty()) say("warning: " + why);
    start_after(wait, *profile);
  });
}

void Run::start_after(Duration wait, const Profile& profile) {
  if (interrupted_) return;
  if (wait == Duration::zero()) return start_attempt(profile);
  pause_.expires_after(wait);
  pause_.async_wait([this, &profile](const boost::system::error_code& cancelled) {
    if (!cancelled && !interrupted_) start_attempt(profile);
  });
}

void Run::tell_of_fallback(const Diagnosis& diagnosis, const NextStep& step) {
  const AttemptSummary& attempt = summary_.attempts.back();
  say(fmt::format("attempt {} ({}) {} after {}: {}", attempt.number, attempt.profile,
                  name(attempt.end), describe_duration(attempt.took), diagnosis.explanation));
  say(fmt::format("cause: {} ({}, {})", diagnosis.title, diagnosis.cause,
                  name(diagnosis.certainty)));
  for (const StruckOut& struck : step.struck_out)
    say(fmt::format("not {}: {}", struck.name, struck.why));
  say(fmt::format("now attempt {} with {} ({}); cost: {}", attempt.number + 1, step.profile->name,
                  step.why, cost_in_words(plan_, *step.profile)));
}

// A single process that fails has told why, and its words stand last on the screen.
bool Run::speaks_for_itself(const AttemptRecord& record, const Diagnosis& diagnosis) const {
  const Launcher launcher = plan_.command.launcher;
  const bool buried = !plan_.spawn && launcher != Launcher::python && launcher != Launcher::opaque;
  const bool single = record.ranks.world_size <= 1;
  return single && !buried && std::holds_alternative<Stop>(diagnosis.decision) &&
         (is_users_own(diagnosis.cause) || diagnosis.certainty == Certainty::guess);
}

// What the rank said last on one of its streams, or on the one that all share.
std::string Run::last_words(const AttemptRecord& record, StdStream stream,
                            std::optional<Rank> rank) const {
  std::string text;
  for (const auto& [id, tail] : record.tails)
    if (id.stream == stream && (!id.rank || !rank || id.rank == rank)) text += tail;
  return first_failure(text, Catalogue::builtin(), rank);
}

// The user's own failure, last on the screen: launchers bury it under their own words. Of a
// job that was stuck nothing failed.
void Run::tell_of_first_failure(const AttemptRecord& record, const Diagnosis& diagnosis) {
  const bool stuck = record.verdict && is_stuck(*record.verdict);
  if (record.signal || stuck || summary_.attempts.back().told_by_itself) return;
  std::string shown = last_words(record, StdStream::err, diagnosis.first_failed);
  if (shown.empty()) shown = last_words(record, StdStream::out, diagnosis.first_failed);
  if (shown.empty()) return;
  say(diagnosis.first_failed
          ? fmt::format("rank {} failed first; its last words:", diagnosis.first_failed->value)
          : "what failed first:");
  terminal_.write_message(std::string_view(shown).substr(0, shown.size() - 1));
}

void Run::remember_what_worked() {
  remember_success(plan_, *profile_, static_cast<int>(summary_.attempts.size()),
                   probe_ ? Probed::yes : Probed::no);
}

std::span<const Profile> Run::known_profiles() {
  // Read only when something has to be healed: a healthy run needs its first profile alone.
  if (!known_.empty()) return known_;
  if (const Result<void> read = read_rest_of_chain(plan_); !read)
    say("warning: " + read.error().message);
  known_ = ProfileLibrary::standard(plan_.environment).load_all();
  return known_;
}

void Run::give_up(const Error& error) {
  exit_code_ = exit_code_of(error.code);
  terminal_.write_message("safelaunch: " + error.message);
  close(error.message);
}

// Training outlives whoever read its output, but not without a word.
void Run::tell_of_lost_output() {
  if (terminal_.lost() == 0) return;
  const std::string kept =
      summary_.directory.empty() ? "" : "; the logs have them: " + summary_.directory;
  say(fmt::format("warning: nobody took {} bytes of the output{}", terminal_.lost(), kept));
}

void Run::close(std::string stopped_because) {
  tell_of_lost_output();
  summary_.exit_code = exit_code_;
  summary_.stopped_because = std::move(stopped_because);
  log_.record("end", {{"exit_status", std::int64_t{exit_code_}}});
  if (!directory_.path().empty())
    (void)write_atomically(directory_.path() / "outcome.json", outcome_json(summary_));
  if (plan_.options.json)
    terminal_.write_message(outcome_json(summary_));
  else if (worth_telling(summary_) && plan_.options.verbosity != Verbosity::quiet)
    terminal_.write_message(closing_screen(
        summary_, plan_.options.colour && streams_.err.kind == StreamTarget::Kind::terminal
                      ? Colour::on
                      : Colour::off));
  if (!directory_.path().empty() && worth_telling(summary_))
    (void)write_report_page(directory_.path(), plan_.environment);
  io_.stop();
}

}  // namespace

int run_job(RunPlan plan) {
  return Run(std::move(plan)).run();
}

}  // namespace safelaunch
