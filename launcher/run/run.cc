#include "run.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <thread>

#include "attempt_record.h"
#include "run_ledger.h"
#include "safelaunch/agree/token.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/harmless.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/gpu/visible.h"
#include "safelaunch/host/cgroup.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/plan/json_file.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/plan/port_choice.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/ranks/attempt_place.h"
#include "safelaunch/run/run_job.h"

// The machine decides, and each of its actions has a function here, in the order in which they come
// to pass: the run opens, attempts start and end, the run ends; then what several nodes need. The
// run never waits for something that may never answer (a disk, a name server, the other nodes): the
// answer is an event, and so is its silence.
namespace safelaunch::run {
namespace {

// The job's own words and ours have this long to reach a slow reader after the job has ended.
constexpr Duration kLastWords{5'000};

// Name servers may take ten seconds to say that there is no such name.
constexpr Duration kChecksWithin{20'000};

// A folder on a dead server, or a frozen file system, is done without.
constexpr Duration kDiskAnswersWithin{3'000};

}  // namespace

Run::Run(plan::RunPlan plan)
    : plan_(std::move(plan)),
      streams_(output::inspect_streams()),
      ledger_(disk_, Clock::now()),
      reaper_(io_,
              [this](int pid, const ExitStatus& status) {
                if (attempt_) attempt_->orphan_ended(pid, status);
              }),
      guardian_(io_),
      signals_(io_, [this](const launch::ReceivedSignal& received) { take(received); }),
      terminal_(io_, streams_),
      voice_(plan_, terminal_, ledger_.summary()),
      notifier_(io_, reaper_, plan_.options.notify, plan_.environment,
                [this](const std::string& line) { voice_.say(line); }),
      gpu_memory_(io_, reaper_, plan_.environment),
      timer_(io_),
      machine_(plan_, *this) {}

int Run::run() {
  output::ignore_output_signals();
  // Other threads log too, but the terminal belongs to this one.
  set_log_writer([this, ours = std::this_thread::get_id()](std::string_view line) {
    if (std::this_thread::get_id() == ours) return terminal_.write_message(line);
    boost::asio::post(io_, [this, text = std::string(line)] { terminal_.write_message(text); });
  });
  terminal_.filter_messages(harmless);
  terminal_.set_ink(takes_ink(plan_.options.colour,
                              streams_.err.kind == output::StreamTarget::Kind::terminal,
                              plan_.environment));
  if (const Result<void> opened = ledger_.open(plan_); !opened) {
    perform(SayFailure{opened.error().message});
    terminal_.flush(kLastWords);
    return exit_code_of(opened.error().code);
  }
  terminal_.filter_messages(
      [this](std::string_view text) { return harmless(ledger_.redactor().redact(text)); });
  say_warnings();
  keep_metrics();
  take(RunBegins{});
  io_.run();
  terminal_.flush(kLastWords);
  return leave();
}

void Run::say_warnings() {
  if (!ledger_.trouble().empty()) voice_.say("warning: " + ledger_.trouble());
  if (!host::proc_is_ours())
    voice_.say(
        "warning: /proc belongs to another pid namespace, so safelaunch can watch and end only the "
        "processes that it starts itself (unshare --mount-proc)");
  for (const std::string& warning : plan_.warnings) voice_.say("warning: " + warning);
  if (plan_.settings_from_here && plan_.options.verbosity != Verbosity::quiet) {
    voice_.say("note: settings from ./safelaunch.yaml");
    remember_telling(*plan_.settings_from_here);
  }
}

void Run::keep_metrics() {
  if (plan_.options.metrics.empty()) return;
  metrics_.emplace(io_, plan_.options.metrics, ledger_.run_id());
  ledger_.events().watch(
      [this](int attempt, const report::record::Event& event) { metrics_->take(attempt, event); });
}

void Run::remember_telling(const profile::Telling& telling) {
  if (telling.file.empty()) return;
  (void)disk_.post(telling.content.size(),
                   [telling] { (void)replace_lasting_file(telling.file, telling.content); });
}

// A thread that is stuck in a write cannot be joined, and the things that it uses must not be
// destroyed.
int Run::leave() {
  if (disk_.drain(kLastWords)) {
    if (const std::string loss = ledger_.loss(); !loss.empty()) voice_.say("warning: " + loss);
    terminal_.flush(kLastWords);
    return exit_code_;
  }
  voice_.say("warning: not all of this run is recorded: the file system of " +
             ledger_.directory().native() + " does not answer");
  terminal_.flush(kLastWords);
  launch::end_at_once(exit_code_);
}

void Run::take(const RunEvent& event) {
  for (const RunAction& action : machine_.on(event, Clock::now()))
    std::visit([this](const auto& one) { perform(one); }, action);
  set_timer();
}

void Run::set_timer() {
  const auto deadline = machine_.deadline();
  if (!deadline) return void(timer_.cancel());
  timer_.set(*deadline, [this] { take(PauseOver{}); });
}

// The disks and servers that the checks ask may never answer, so a process of its own waits for
// them.
void Run::perform(const CheckHost&) {
  // They are forked off, and a lock that another thread held then would be held in them for ever.
  (void)disk_.drain(kDiskAnswersWithin);
  checks_.emplace(io_, plan_, kChecksWithin,
                  [this](const plan::HostReport& report) { take(HostChecked{report}); });
}

void Run::perform(const StartAttempt& start) {
  attempt_number_ = start.number;
  const Result<void> started = start_attempt(start);
  started ? take(AttemptStarted{}) : take(AttemptNotStarted{started.error()});
}

// A port on which the nodes have agreed is not chosen again.
Result<void> Run::take_port(const StartAttempt& start) {
  if (start.agreed) return {};
  port_.reset();
  const plan::Agents agents = nodes_ ? plan::Agents::agree : plan::Agents::are_apart;
  Result<plan::PortChoice> port =
      plan::choose_port(plan_, start.profile, start.former_port, agents);
  if (!port) {
    ledger_.note({cause::kPortTaken, Severity::blocks, port.error().message, "--port auto"});
    return port.error();
  }
  keeps_port_ =
      plan::options_under(plan_.options, start.profile).port.how == settings::PortWish::How::keep;
  if (!port->notice.empty()) voice_.say(port->notice);
  port_ = std::move(port->lease);
  commands_port_ = port->kept;
  return {};
}

Result<void> Run::start_attempt(const StartAttempt& start) {
  if (const Result<void> taken = take_port(start); !taken) return taken.error();
  // The counter is that of the whole cgroup, so only its growth during the attempt says something.
  oom_kills_before_ = host::oom_kills_of_our_cgroup();
  added_arguments_ = start.profile.args.append;
  ranks::AttemptPlace place = prepare(start);
  leave_out_what_another_user_cannot_use(place, start.number);
  AttemptInputs inputs{.plan = plan_,
                       .profile = start.profile,
                       .number = start.number,
                       .run_id = ledger_.run_id(),
                       .directory = place.directory,
                       .port = {},
                       .hook = place.hook,
                       .nccl = place.nccl,
                       .streams = streams_};
  if (port_) inputs.port = port_->port();
  inputs.agreed = start.agreed;
  inputs.by_loopback = start.by_loopback;
  inputs.is_member = start.agreed && !nodes_->leads();
  if (start.agreed && start.agreed->master_port != 0) inputs.port = start.agreed->master_port;
  Result<SettledAttempt> settled = settle(inputs);
  if (!settled) return settled.error();
  if (!settled->notice.empty() && start.number == 1) voice_.say(settled->notice);
  settled->spec.output.disk = &disk_;
  write_env_diff(disk_, inputs.directory, settled->differences, ledger_.redactor());
  voice_.tell_of_start(start.number, start.profile.name, inputs.port, inputs.directory.native());
  attempt_ = std::make_unique<Attempt>(
      services(), std::move(settled->spec),
      [this](AttemptTell tell) { std::visit([this](auto& one) { hear(std::move(one)); }, tell); });
  return attempt_->start();
}

ranks::AttemptPlace Run::prepare(const StartAttempt& start) {
  const settings::RunOptions options = plan::options_under(plan_.options, start.profile);
  const ranks::PlaceWanted wanted{ledger_.run_directory(),
                                  start.number,
                                  start.profile.name,
                                  {options.hook, options.plugin},
                                  plan_.environment};
  const auto place =
      disk_.within(kDiskAnswersWithin, [wanted] { return ranks::make_place(wanted); });
  if (!place)
    voice_.say(
        "warning: the file system of safelaunch's folders does not answer; the job runs "
        "without its hook and record");
  else if (!place->trouble.empty())
    voice_.say("warning: " + place->trouble);
  return place.value_or(ranks::AttemptPlace{});
}

void Run::leave_out_what_another_user_cannot_use(ranks::AttemptPlace& place, int attempt) {
  const std::string changer = ranks::changes_user(plan_.command.argv, geteuid());
  if (changer.empty()) return;
  place.hook.reset();
  place.nccl.directory.clear();
  if (attempt == 1)
    voice_.say(
        fmt::format("{} changes the user: safelaunch watches its ranks from /proc alone, without "
                    "hook and NCCL's log. Start safelaunch as that user",
                    changer));
}

// While the workers import, what the probe finds out costs the job no time.
void Run::perform(const ProbeBesideAttempt& probe) {
  Result<ProbeMeans> means =
      means_to_probe(plan_, probe.profile, gpus_here(), probe::Moment::beside_the_first);
  if (!means) {
    const bool asked_for =
        plan::options_under(plan_.options, probe.profile).probe == settings::WhenToProbe::always;
    return asked_for ? voice_.say("warning: no probe: " + means.error().message)
                     : log_debug("no probe: " + means.error().message);
  }
  probe_.emplace(services(), plan_, std::move(*means), machine_,
                 [this](const RunEvent& event) { take(event); });
  probe_->begin_beside(probe.profile);
}

void Run::hear(const ranks::TellMeeting&) {
  if (probe_) probe_->ranks_meet();
}

void Run::hear(const AttemptStops&) {
  if (probe_) probe_->end();
  // The others are not told to end when this one has come to its end in order.
  if (nodes_ && attempt_ && !attempt_->goes_well()) nodes_->attempt_stops(attempt_->trouble());
}

void Run::hear(AttemptRecord record) {
  record_ = std::move(record);
  std::ranges::move(attempt_->recordings(), std::back_inserter(recordings_));
  attempt_.reset();
  voice_.tell_of_survivors(record_.survivors);
  const diagnose::Evidence evidence =
      went_well(record_) ? diagnose::Evidence{} : evidence_of(record_);
  for (const auto* exits : {&record_.ranks.exits, &record_.ranks.late_exits})
    for (const RankExited& rank : *exits)
      if (rank.process.is_here()) former_pids_.push_back(rank.process.pid);
  take(AttemptEnded{ended(evidence), nodes_ && nodes_->leads()});
  if (nodes_)
    nodes_->attempt_over(attempt_number_, status_for_others(record_, evidence), record_, evidence);
}

// NVML was asked when the run began. Where it has not answered, what the kernel shows must do.
std::optional<int> Run::gpus_here() const {
  if (const auto usable = gpu_memory_.usable()) return usable;
  if (!gpu::may_find_gpu(plan_.environment)) return 0;
  const int devices = host::read_identity().gpu_devices;
  return devices > 0 ? std::optional(devices) : std::nullopt;
}

EndedAttempt Run::ended(const diagnose::Evidence& evidence) const {
  // Nothing follows an attempt that went well, so no file is looked at for it.
  return {record_, evidence, !went_well(record_) && gpus_here() != 0, refuted()};
}

diagnose::Evidence Run::evidence_of(const AttemptRecord& record) const {
  AttemptContext context;
  context.launcher = plan_.command.launcher;
  context.ranks_below = plan_.spawn || plan_.command.descendants != job::Descendants::none;
  context.nodes = plan_.nodes();
  context.former_pids = former_pids_;
  context.added_arguments = added_arguments_;
  context.autotuning = plan_.command.autotuning;
  context.retries_of_profile = machine_.retries_of_profile();
  using Choice = diagnose::RendezvousPort::Choice;
  if (const auto port = port_ ? std::optional<int>(port_->port()) : commands_port_)
    context.port = diagnose::RendezvousPort{*port, keeps_port_ ? Choice::users : Choice::ours};
  if (const auto kills = host::oom_kills_of_our_cgroup(); kills && oom_kills_before_)
    context.oom_kills = static_cast<int>(*kills - *oom_kills_before_);
  diagnose::Evidence evidence = make_evidence(record, context);
  std::ranges::move(plan::port_facts(evidence, record.ranks.knocking, diagnose::catalogue(),
                                     host::KernelSockets()),
                    std::back_inserter(evidence.confirmations));
  return evidence;
}

std::vector<std::string> Run::refuted() const {
  return probe_ ? probe_->refuted() : std::vector<std::string>{};
}

void Run::perform(const ProbeCandidates& probe) {
  Result<ProbeMeans> means =
      means_to_probe(plan_, probe.failed, gpus_here(), probe::Moment::after_a_failure);
  if (!means) {
    log_debug("no probe: " + means.error().message);
    return take(ProfileChosen{});
  }
  probe_.emplace(services(), plan_, std::move(*means), machine_,
                 [this](const RunEvent& event) { take(event); });
  gpu_memory_.when_back([this, candidates = probe.candidates](const gpu::Drain& drain) {
    // The next attempt looks once more, and tells.
    if (drain.state == gpu::Drain::State::stuck) return take(ProfileChosen{});
    probe_->choose(candidates);
  });
}

void Run::perform(const AwaitGpuMemory&) {
  gpu_memory_.when_back([this](const gpu::Drain& drain) {
    take(MemoryBack{drain.why, drain.state == gpu::Drain::State::stuck});
  });
}

void Run::perform(const RecordAttempt& record) {
  ledger_.add(record.summary);
  if (const auto notice = notice_of(ledger_.summary().attempts.back())) notify(*notice);
}

// On several nodes the one that leads tells.
void Run::notify(const Notice& notice) {
  if (!notifier_.tells() || (nodes_ && !nodes_->leads())) return;
  notifier_.tell(in_json(notice, ledger_.summary(), ledger_.redactor()));
}

void Run::hear(const report::record::Stall& stall) {
  using report::record::Stall;
  if (stall.phase != Stall::kAgain && stall.phase != Stall::kWorks)
    notify(notice_of(stall, attempt_number_));
}

void Run::perform(const KeepWhatWorked& keep) {
  if (keep.profile.cost != profile::Cost::none)
    ledger_.set_cost(plan::cost_in_words(plan_, keep.profile));
  const auto remember = [plan = plan_, keep, probed = probe_ ? Probed::yes : Probed::no] {
    remember_success(plan, keep.profile, keep.attempts, probed);
  };
  if (!disk_.post(0, remember))
    log_debug("the disk is too slow: the profile that worked is not remembered");
}

// Read only when something has to be healed: a healthy run needs its first profile alone.
std::span<const profile::Profile> Run::all_profiles() {
  if (!known_.empty()) return known_;
  if (const Result<void> read = plan::read_rest_of_chain(plan_); !read)
    voice_.say("warning: " + read.error().message);
  known_ = profile::ProfileLibrary::standard(plan_.environment).load_all();
  return known_;
}

void Run::note_checkpoints(const std::string& pattern) {
  const auto note = [noted = noted_, pattern] { *noted = plan::find_checkpoints(pattern); };
  if (!checkpoints_disk_.post(0, note)) log_debug("no thread looks for checkpoints");
}

std::optional<plan::CheckpointsSeen> Run::checkpoints_of(const std::string& pattern) {
  return checkpoints_disk_.within(kDiskAnswersWithin, [noted = noted_, pattern] {
    return plan::CheckpointsSeen{*noted, plan::find_checkpoints(pattern),
                                 std::filesystem::file_time_type::clock::now()};
  });
}

std::optional<bool> Run::has_checkpoint(const std::string& path) {
  return checkpoints_disk_.within(kDiskAnswersWithin, [path] {
    std::error_code none;
    return std::filesystem::exists(path, none);
  });
}

void Run::write_json_report() {
  const std::filesystem::path file = plan::json_file(plan_.options);
  if (file.empty()) return;
  const auto written = json_writer_.within(kDiskAnswersWithin,
                                           [file, json = report::outcome_json(ledger_.summary())] {
                                             return plan::write_json(file, json);
                                           });
  if (!written)
    voice_.say("warning: --json=" + file.native() +
               ": cannot write the report: whoever reads it takes nothing");
  else if (!*written)
    voice_.say("warning: " + written->error().message);
}

std::optional<profile::Profile> Run::profile_named(const std::string& name) {
  const auto in_chain = std::ranges::find(plan_.chain, name, &profile::Profile::name);
  if (in_chain != plan_.chain.end()) return *in_chain;
  profile::ProfileLibrary library = profile::ProfileLibrary::standard(plan_.environment);
  auto loaded = library.load_chain(std::span(&name, 1), "the agreement of the nodes");
  return loaded ? std::optional(loaded->front()) : std::nullopt;
}

// Several nodes.

void Run::perform(const JoinNodes&) {
  const Result<agree::Token> token = agree::find_token(plan_.options.token_file, plan_.environment);
  if (!token) return take(NodesRefused{token.error()});
  Nodes::Listener& listener = *this;
  ledger_.learn_secret(token->secret);
  auto opened = Nodes::open(io_, plan_, *token, listener);
  if (!opened) return take(NodesRefused{opened.error()});
  nodes_ = *std::move(opened);
  nodes_->join();
}

void Run::perform(const ProposeAttempt& proposal) {
  const Result<void> taken =
      take_port({proposal.profile, proposal.number, proposal.former_port, std::nullopt});
  if (!taken) return take(AttemptNotStarted{taken.error()});
  nodes_->propose(proposal, port_ ? std::optional<int>(port_->port()) : std::nullopt);
}

// A short job is over before the disk's thread has met what is wrong with its logs.
Logs Run::tell_of_lost_logs() {
  if (!disk_.stuck()) (void)disk_.drain(kDiskAnswersWithin);
  std::vector<output::RecordingLoss> losses;
  for (output::Recording& recording : recordings_)
    if (auto loss = recording.untold_loss()) losses.push_back(std::move(*loss));
  voice_.tell_of_lost_logs(losses);
  return std::ranges::any_of(recordings_, &output::Recording::failed) ? Logs::cut : Logs::whole;
}

// The end of the run on every node: one diagnosis over what all have said.
void Run::over_everywhere(const std::vector<OtherNode>& others,
                          const std::vector<ranks::NodeName>& lost) {
  take_end_of(others, attempt_number_, record_);
  diagnose::Evidence evidence;
  if (!went_well(record_)) {
    evidence = evidence_of(record_);
    for (const std::string& trouble : add_words_of(others, evidence)) log_warning(trouble);
  }
  if (const auto end = end_of_nodes(others, lost, plan_.environment.contains("SLURM_JOB_ID")))
    return take(EndedByNodes{record_, end->exit_code, end->why});
  take(OverEverywhere{ended(evidence)});
}

void Run::perform(const EndRun& end) {
  checks_.reset();
  exit_code_ = status_with(end.exit_code, terminal_.lost());
  voice_.tell_of_lost_output(tell_of_lost_logs());
  ledger_.close(exit_code_, end.stopped_because, plan_);
  voice_.tell_end();
  write_json_report();
  ledger_.write_page(plan_.environment);
  if (ledger_.lost_events() > 0)
    voice_.say(fmt::format("warning: the disk was too slow: {} events of this run are not recorded",
                           ledger_.lost_events()));
  if (metrics_)
    if (const std::string trouble = metrics_->finish(); !trouble.empty())
      voice_.say("warning: --metrics: " + trouble);
  notify(notice_of_end(ledger_.summary()));
  notifier_.finish([this] { io_.stop(); });
}

int run_job(plan::RunPlan plan) {
  return Run(std::move(plan)).run();
}

}  // namespace safelaunch::run
