#pragma once

#include <csignal>
#include <functional>

#include "catch.h"
#include "launcher/run/attempt_record.h"
#include "launcher/run/run_machine.h"
#include "machine_story.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/profile/library.h"

namespace safelaunch::run {
using namespace plan;

using namespace std::chrono_literals;

inline nccl::Version some_nccl() {
  return {.major = 2, .minor = 29, .patch = 7};
}

inline AttemptRecord went_well_record() {
  AttemptRecord record;
  record.command = Exited{0};
  return record;
}

inline AttemptRecord hung_in(Stage stage) {
  AttemptRecord record;
  Failure verdict{.kind = FailureKind::hung, .stage = stage};
  verdict.waiting = {Rank{0}};
  verdict.missing = {{.rank = Rank{1}}};
  record.verdict = verdict;
  record.ranks.world_size = 2;
  record.ranks.heard = true;
  record.ranks.backends = {"nccl"};
  return record;
}

// NCCL itself says that /dev/shm is too small.
inline AttemptRecord failed_in_nccl() {
  AttemptRecord record;
  record.command = Exited{1};
  record.ranks.world_size = 2;
  record.ranks.heard = true;
  record.ranks.backends = {"nccl"};
  record.ranks.nccl.version = some_nccl();
  record.ranks.nccl.any = true;
  Failure verdict{.kind = FailureKind::raised, .stage = Stage::communicator};
  verdict.missing = {{.rank = Rank{0}, .status = Exited{1}}};
  record.verdict = verdict;
  record.tails = {{{std::nullopt, output::StdStream::err},
                   "NCCL WARN Error: failed to extend /dev/shm/nccl-aB1cD2 to 33030532 bytes\n"}};
  return record;
}

/// Something passes by itself: the same profile is tried again after a pause.
inline AttemptRecord passes_by_itself() {
  AttemptRecord record;
  record.command = Exited{1};
  record.ranks.world_size = 2;
  record.ranks.began = true;
  record.tails = {{{std::nullopt, output::StdStream::err},
                   "torch.distributed.DistNetworkError: The server socket has failed to listen on "
                   "any local network address. port: 29500, useIpv6: false, code: -98, name: "
                   "EADDRINUSE, message: address already in use\n"}};
  return record;
}

inline AttemptRecord script_failed() {
  AttemptRecord record;
  record.command = Exited{3};
  record.ranks.world_size = 2;
  record.ranks.raised = {{Rank{1}, {}, "ValueError", "no such file", "Traceback"}};
  record.ranks.exits = {{Rank{1}, {}, Exited{3}}};
  return record;
}

/// An action in a word or two.
struct RunWord {
  std::string operator()(const CheckHost&) const { return "check host"; }
  std::string operator()(const StartAttempt& start) const { return "start " + start.profile.name; }
  std::string operator()(const ProbeBesideAttempt&) const { return "probe beside"; }
  std::string operator()(const SignalAttempt&) const { return "signal attempt"; }
  std::string operator()(const EndAttemptForAnother&) const { return "end for another"; }
  std::string operator()(const ProbeCandidates&) const { return "probe candidates"; }
  std::string operator()(const AwaitGpuMemory&) const { return "await memory"; }
  std::string operator()(const RecordFinding&) const { return "record finding"; }
  std::string operator()(const RecordCause&) const { return "record cause"; }
  std::string operator()(const RecordAttempt&) const { return "record attempt"; }
  std::string operator()(const SayLine&) const { return "say"; }
  std::string operator()(const SayFailure&) const { return "say failure"; }
  std::string operator()(const TellFallback&) const { return "tell fallback"; }
  std::string operator()(const TellStruckOut&) const { return "tell struck out"; }
  std::string operator()(const TellFirstFailure&) const { return "tell first failure"; }
  std::string operator()(const TellSwept&) const { return "tell swept"; }
  std::string operator()(const KeepWhatWorked&) const { return "keep what worked"; }
  std::string operator()(const JoinNodes&) const { return "join nodes"; }
  std::string operator()(const PartFromNodes&) const { return "part from nodes"; }
  std::string operator()(const TellReady& told) const {
    return told.blocked ? "tell blocked" : "tell ready";
  }
  std::string operator()(const ProposeAttempt& one) const { return "propose " + one.profile.name; }
  std::string operator()(const TellNotStarted&) const { return "tell not started"; }
  std::string operator()(const ProposeEnd& end) const {
    return "propose end with " + std::to_string(end.exit_code);
  }
  std::string operator()(const TellSignal&) const { return "tell signal"; }
  std::string operator()(const EndRun& end) const {
    return "end with " + std::to_string(end.exit_code);
  }
};

/// A run of which only the decisions are real: what it would do is gathered.
class RunStory : public testing::Deeds<RunAction>, Shelf {
 public:
  RunPlan plan;
  bool gpu = true;
  std::vector<std::string> refuted;
  /// The profiles of the chain that are unread until one more is needed.
  std::vector<profile::Profile> unread;
  bool read_catalogue = false;
  static constexpr std::filesystem::file_time_type kLooked{10h};
  plan::Checkpoints checkpoints;  ///< the job's, once it has been started
  plan::Checkpoints checkpoints_at_start;
  bool disk_answers = true;
  std::vector<std::string> asked_for_checkpoints;

  explicit RunStory(std::vector<std::string> chain = profile::default_chain()) {
    plan.chain_names = std::move(chain);
    plan.max_attempts = static_cast<int>(plan.chain_names.size());
    for (const std::string& name : plan.chain_names)
      plan.chain.push_back(*profile::ProfileLibrary::standard({}).load(name));
    plan.options.preflight = false;
  }

  void on(const RunEvent& event) {
    for (RunAction& action : machine_.on(event, now_)) done_.push_back(std::move(action));
  }
  void begin() {
    on(RunBegins{});
    on(AttemptStarted{});
  }
  void ends_with(const AttemptRecord& record) {
    AttemptContext context;
    context.launcher = job::Launcher::torchrun;
    context.retries_of_profile = machine_.retries_of_profile();
    context.port = diagnose::RendezvousPort{29500, diagnose::RendezvousPort::Choice::ours};
    ended_with(record, make_evidence(record, context));
  }
  void memory_is_back() {
    on(MemoryBack{});
    if (machine_.deadline()) {
      now_ = *machine_.deadline();
      on(PauseOver{});
    }
  }
  void signal(int number, int sender = 0) {
    on(launch::ReceivedSignal{number, sender, launch::SignalOrigin::user});
  }
  void pass(Duration time) { now_ += time; }
  [[nodiscard]] TimePoint now() const { return now_; }

  /// All that is known of an attempt that ended so.
  [[nodiscard]] EndedAttempt ended(const AttemptRecord& record,
                                   const diagnose::Evidence& evidence) const {
    return {record, evidence, gpu, refuted};
  }

  template <class Action>
  [[nodiscard]] bool last_is() const {
    return std::holds_alternative<Action>(done_.back());
  }
  [[nodiscard]] std::vector<std::string> started() const {
    std::vector<std::string> names;
    for (const StartAttempt& one : all<StartAttempt>()) names.push_back(one.profile.name);
    return names;
  }
  [[nodiscard]] std::optional<int> exit_code() const {
    const auto ends = all<EndRun>();
    REQUIRE(ends.size() <= 1);
    return ends.empty() ? std::nullopt : std::optional(ends.front().exit_code);
  }
  [[nodiscard]] std::string said() const {
    std::string text;
    for (const SayLine& one : all<SayLine>()) text += one.text + "\n";
    return text;
  }
  [[nodiscard]] report::AttemptSummary last_summary() const {
    return all<RecordAttempt>().back().summary;
  }
  [[nodiscard]] const RunMachine& machine() const { return machine_; }

 private:
  plan::Checkpoints noted_checkpoints_;
  virtual void ended_with(const AttemptRecord& record, const diagnose::Evidence& evidence) {
    on(AttemptEnded{ended(record, evidence)});
  }
  std::span<const profile::Profile> all_profiles() override {
    for (profile::Profile& one : std::exchange(unread, {})) plan.chain.push_back(std::move(one));
    return plan.chain;
  }
  std::optional<profile::Profile> profile_named(const std::string& name) override {
    const auto named = std::ranges::find(plan.chain, name, &profile::Profile::name);
    return named == plan.chain.end() ? std::nullopt : std::optional(*named);
  }
  void note_checkpoints(const std::string&) override {
    noted_checkpoints_ = started().empty() ? checkpoints_at_start : checkpoints;
  }
  std::optional<plan::CheckpointsSeen> checkpoints_of(const std::string& pattern) override {
    asked_for_checkpoints.push_back(pattern);
    if (!disk_answers) return std::nullopt;
    return plan::CheckpointsSeen{noted_checkpoints_, checkpoints, kLooked};
  }
  std::optional<bool> has_checkpoint(const std::string& path) override {
    return disk_answers ? std::optional(checkpoints.contains(path)) : std::nullopt;
  }
  const diagnose::Catalogue& catalogue() override {
    read_catalogue = true;
    return diagnose::catalogue();
  }

  RunMachine machine_{plan, *this};
  TimePoint now_{};
};

/// A run that agrees with the agents of other nodes.
class AgreeingRun : public RunStory {
 public:
  explicit AgreeingRun(bool certain = true) {
    plan.party.emplace();
    plan.party->placement.nodes = 2;
    plan.party->placement.node = 0;
    plan.party->certain = certain;
    plan.spawn.emplace();
    plan.spawn->nodes = 2;
  }
  void begin_alone() { on(RunBegins{}); }
  void lead() {
    begin_alone();
    leads_ = true;
    on(LeadsNodes{});
    on(NodesReady{});
  }
  void agree(int attempt, const std::string& profile, const std::string& checkpoint = {}) {
    agree::Decision go;
    go.order = agree::Order::go;
    go.attempt = attempt;
    go.profile = profile;
    go.checkpoint = checkpoint;
    on(AttemptAgreed{go});
    on(AttemptStarted{});
  }
  /// To the leader: its own ranks are through.
  void ended_here(const AttemptRecord& record) {
    on(AttemptEnded{ended(record, make_evidence(record, {})), true});
  }
  /// Another agent leads from now on.
  void leads_no_more() { leads_ = false; }
  [[nodiscard]] std::vector<std::string> proposed() const {
    std::vector<std::string> names;
    for (const ProposeAttempt& one : all<ProposeAttempt>())
      names.push_back(std::to_string(one.number) + " " + one.profile.name);
    return names;
  }

 private:
  /// For the leader the attempt is then over on every node, too.
  void ended_with(const AttemptRecord& record, const diagnose::Evidence& evidence) override {
    on(AttemptEnded{ended(record, evidence), leads_});
    if (leads_) on(OverEverywhere{ended(record, evidence)});
  }

  bool leads_ = false;
};

}  // namespace safelaunch::run
