#include "safelaunch/run/run_job.h"

#include <csignal>

#include "run.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/doctor/render.h"
#include "safelaunch/host/cgroup_memory.h"
#include "safelaunch/host/own_proc.h"
#include "safelaunch/run/preflight.h"
#include "safelaunch/run/records.h"

namespace safelaunch {
namespace {

// The job's own words and ours have this long to reach a slow reader after the job has ended.
constexpr Duration kLastWords{5'000};

}  // namespace

int Run::run() {
  ignore_output_signals();
  set_log_writer([this](std::string_view line) { terminal_.write_message(line); });
  if (const Result<void> opened = ledger_.open(plan_); !opened) return refuse(opened.error());
  terminal_.filter_messages(
      [this](std::string_view text) { return ledger_.redactor().redact(text); });
  if (!ledger_.trouble().empty()) voice_.say("warning: " + ledger_.trouble());
  if (!proc_is_ours())
    voice_.say(
        "warning: /proc shows another pid namespace: of this job only what safelaunch starts "
        "itself can be watched and ended (unshare --mount-proc)");
  for (const std::string& warning : plan_.warnings) voice_.say("warning: " + warning);
  if (const Result<void> checked = check_host(); checked)
    start_attempt(plan_.chain.front());
  else
    give_up(checked.error());
  io_.run();
  terminal_.flush(kLastWords);
  return exit_code_;
}

int Run::refuse(const Error& error) {
  voice_.tell_error(error.message);
  terminal_.flush(kLastWords);
  return exit_code_of(error.code);
}

Result<void> Run::check_host() {
  if (!plan_.options.preflight) return {};
  for (const std::string& line : clean_before_run(plan_)) voice_.say(line);
  std::string blocked;
  for (const Finding& finding : examine_host(plan_)) {
    ledger_.note(finding);
    if (blocks(finding))
      blocked += fmt::format("{}blocked: {}",
                             blocked.empty() ? "" : "\nsafelaunch: ", in_one_line(finding));
    else
      voice_.say("risk: " + in_one_line(finding));
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
  if (ledger_.attempts() == 0) probe_beside(profile);
}

Result<void> Run::try_to_start(const Profile& profile) {
  port_.reset();
  Result<PortChoice> port = choose_port(plan_, former_port_);
  if (!port) {
    ledger_.note({"port-taken", Severity::blocks, port.error().message, "--port auto"});
    return port.error();
  }
  if (!port->notice.empty()) voice_.say(port->notice);
  port_ = std::move(port->lease);

  oom_kills_before_ = oom_kills_of_our_cgroup();
  const std::filesystem::path directory = ledger_.next_attempt(profile.name);
  AttemptInputs inputs{.plan = plan_,
                       .profile = profile,
                       .number = ledger_.attempts() + 1,
                       .run_id = ledger_.run_id(),
                       .directory = directory,
                       .port = {},
                       .hook = hook_door(),
                       .nccl = open_nccl_door(directory),
                       .streams = streams_};
  if (port_) inputs.port = port_->port();
  Result<SettledAttempt> settled = settle(inputs);
  if (!settled) return settled.error();
  if (!settled->notice.empty() && ledger_.attempts() == 0) voice_.say(settled->notice);
  write_env_diff(inputs.directory, settled->differences, ledger_.redactor());
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

// Where --probe always asks for it, and while the workers import: what the probe finds out costs
// the job no time.
void Run::probe_beside(const Profile& profile) {
  Result<ProbeMeans> means = means_to_probe(plan_, profile, ProbeMoment::beside_the_first);
  if (!means) {
    const bool asked_for = plan_.options.probe == WhenToProbe::always;
    return asked_for ? voice_.say("warning: no probe: " + means.error().message)
                     : log_debug("no probe: " + means.error().message);
  }
  const auto next = [this](const Diagnosis& diagnosis, const std::vector<std::string>& tried) {
    RunProgress after_this = progress(diagnosis, tried);
    ++after_this.attempts;
    return next_step(plan_, diagnosis, after_this);
  };
  probe_.emplace(services(), plan_, std::move(*means));
  probe_->begin_beside(profile, next, [this](const Diagnosis& diagnosis, const NextStep& step) {
    switch_ = Switch{diagnosis, step};
    attempt_->give_way();
  });
}

// A hook that cannot be installed is no reason to run nothing: /proc shows the ranks too.
std::optional<HookDoor> Run::hook_door() {
  const HookGuests guests{plan_.options.hook, plan_.options.plugin};
  if (!guests.hook && !guests.plugin) return std::nullopt;
  Result<HookDoor> door = open_hook_door(guests, plan_.environment, ledger_.directory());
  if (door) return std::move(*door);
  voice_.say("warning: " + door.error().message);
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

void Run::give_up(const Error& error) {
  exit_code_ = exit_code_of(error.code);
  voice_.tell_error(error.message);
  close(error.message);
}

void Run::close(std::string stopped_because) {
  voice_.tell_of_lost_output();
  ledger_.close(exit_code_, std::move(stopped_because));
  voice_.tell_end();
  ledger_.write_page(plan_.environment);
  io_.stop();
}

int run_job(RunPlan plan) {
  return Run(std::move(plan)).run();
}

}  // namespace safelaunch
