#include "safelaunch/run/run_job.h"

#include <unistd.h>
#include <boost/asio/post.hpp>
#include <csignal>
#include <thread>

#include "run.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/doctor/render.h"
#include "safelaunch/host/cgroup_memory.h"
#include "safelaunch/host/own_proc.h"
#include "safelaunch/run/other_user.h"
#include "safelaunch/run/records.h"

namespace safelaunch {
namespace {

// The job's own words and ours have this long to reach a slow reader after the job has ended.
constexpr Duration kLastWords{5'000};

// Name servers may take ten seconds to say that there is no such name.
constexpr Duration kChecksWithin{20'000};

// A folder on a dead server, or a frozen file system, is done without.
constexpr Duration kDiskAnswersWithin{3'000};

}  // namespace

int Run::run() {
  ignore_output_signals();
  set_log_writer([this, ours = std::this_thread::get_id()](std::string_view line) {
    if (std::this_thread::get_id() == ours) return terminal_.write_message(line);
    boost::asio::post(io_, [this, text = std::string(line)] { terminal_.write_message(text); });
  });
  if (const Result<void> opened = ledger_.open(plan_); !opened) return refuse(opened.error());
  terminal_.filter_messages(
      [this](std::string_view text) { return ledger_.redactor().redact(text); });
  if (!ledger_.trouble().empty()) voice_.say("warning: " + ledger_.trouble());
  if (!proc_is_ours())
    voice_.say(
        "warning: /proc shows another pid namespace: of this job only what safelaunch starts "
        "itself can be watched and ended (unshare --mount-proc)");
  for (const std::string& warning : plan_.warnings) voice_.say("warning: " + warning);
  plan_.options.preflight ? check_host() : begin();
  io_.run();
  terminal_.flush(kLastWords);
  return end();
}

void Run::begin() {
  start_attempt(plan_.chain.front());
}

// A thread that is stuck in a write cannot be joined, and what it uses must not be destroyed.
int Run::end() {
  if (disk_.drain(kLastWords)) return exit_code_;
  voice_.say("warning: not all of this run is recorded: the file system of " +
             ledger_.directory().native() + " does not answer");
  terminal_.flush(kLastWords);
  end_at_once(exit_code_);
}

int Run::refuse(const Error& error) {
  voice_.tell_error(error.message);
  terminal_.flush(kLastWords);
  return exit_code_of(error.code);
}

// Whatever they read may never answer, so we do not wait for it ourselves.
void Run::check_host() {
  // They are forked off, and a lock that another thread held then would be held in them for ever.
  (void)disk_.drain(kDiskAnswersWithin);
  checks_.emplace(io_, plan_, kChecksWithin,
                  [this](const HostReport& report) { take_report(report); });
}

void Run::take_report(const HostReport& report) {
  for (const std::string& line : report.lines) voice_.say(line);
  if (!report.trouble.empty())
    voice_.say("warning: the checks before the run are left out: " + report.trouble +
               " (--no-preflight does without them)");
  std::string blocked;
  for (const Finding& finding : report.findings) {
    ledger_.note(finding);
    if (blocks(finding))
      blocked += fmt::format("{}blocked: {}",
                             blocked.empty() ? "" : "\nsafelaunch: ", in_one_line(finding));
    else
      voice_.say("risk: " + in_one_line(finding));
  }
  if (blocked.empty()) return begin();
  give_up(Error{Errc::blocked, blocked + " (--no-preflight runs it all the same)"});
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
  Prepared prepared = prepare(profile.name);
  leave_out_what_another_user_cannot_use(prepared);
  AttemptInputs inputs{.plan = plan_,
                       .profile = profile,
                       .number = ledger_.attempts() + 1,
                       .run_id = ledger_.run_id(),
                       .directory = prepared.directory,
                       .port = {},
                       .hook = prepared.hook,
                       .nccl = prepared.nccl,
                       .streams = streams_};
  if (port_) inputs.port = port_->port();
  Result<SettledAttempt> settled = settle(inputs);
  if (!settled) return settled.error();
  if (!settled->notice.empty() && ledger_.attempts() == 0) voice_.say(settled->notice);
  settled->spec.output.disk = &disk_;
  write_env_diff(disk_, inputs.directory, settled->differences, ledger_.redactor());
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

Run::Prepared Run::prepare(const std::string& profile) {
  const auto answer = disk_.within(kDiskAnswersWithin, [this, profile] {
    Prepared made{ledger_.next_attempt(profile), {}, {}, {}};
    made.nccl = open_nccl_door(made.directory);
    const HookGuests guests{plan_.options.hook, plan_.options.plugin};
    if (!guests.hook && !guests.plugin) return made;
    Result<HookDoor> door = open_hook_door(guests, plan_.environment, ledger_.directory());
    // One that cannot be installed is no reason to run nothing: /proc shows the ranks too.
    door ? void(made.hook = std::move(*door)) : void(made.trouble = door.error().message);
    return made;
  });
  if (!answer)
    voice_.say(
        "warning: the file system of safelaunch's folders does not answer; the job runs "
        "without its hook and record");
  else if (!answer->trouble.empty())
    voice_.say("warning: " + answer->trouble);
  return answer.value_or(Prepared{});
}

void Run::leave_out_what_another_user_cannot_use(Prepared& prepared) {
  const std::string changer = changes_user(plan_.command.argv, geteuid());
  if (changer.empty()) return;
  prepared.hook.reset();
  prepared.nccl.directory.clear();
  if (ledger_.attempts() == 0)
    voice_.say(
        fmt::format("{} hands on to another user, who can use neither the hook nor NCCL's log: "
                    "its ranks are watched from /proc alone (start safelaunch as that user)",
                    changer));
}

void Run::on_signal(const ReceivedSignal& received) {
  if (attempt_) return attempt_->signal(received);
  // Between two attempts there is nothing to be stopped but our own waiting, and that only once.
  if (!ends_a_job(received.signal) || io_.stopped()) return;
  checks_.reset();
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
  if (ledger_.lost_events() > 0)
    voice_.say(
        fmt::format("warning: {} events of this run are not recorded: its file system did "
                    "not keep up",
                    ledger_.lost_events()));
  io_.stop();
}

int run_job(RunPlan plan) {
  return Run(std::move(plan)).run();
}

}  // namespace safelaunch
