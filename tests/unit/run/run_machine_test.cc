#include "launcher/run/run_machine.h"

#include <csignal>

#include "catch.h"
#include "launcher/run/attempt_record.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/profile/library.h"

using namespace safelaunch;

using namespace safelaunch::run;

namespace {

using namespace std::chrono_literals;

nccl::Version some_nccl() {
  return {.major = 2, .minor = 29, .patch = 7};
}

AttemptRecord went_well_record() {
  AttemptRecord record;
  record.command = Exited{0};
  return record;
}

AttemptRecord hung_in(Stage stage) {
  AttemptRecord record;
  Failure verdict{.kind = FailureKind::hung, .stage = stage};
  verdict.waiting = {Rank{0}};
  verdict.missing = {{.rank = Rank{1}}};
  record.verdict = verdict;
  record.ranks.world_size = 2;
  record.ranks.backends = {"nccl"};
  return record;
}

// NCCL itself says that /dev/shm is too small.
AttemptRecord failed_in_nccl() {
  AttemptRecord record;
  record.command = Exited{1};
  record.ranks.world_size = 2;
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

AttemptRecord script_failed() {
  AttemptRecord record;
  record.command = Exited{3};
  record.ranks.world_size = 2;
  record.ranks.raised = {{Rank{1}, {}, "ValueError", "no such file", "Traceback"}};
  record.ranks.exits = {{Rank{1}, {}, Exited{3}}};
  return record;
}

/// A run of which only the decisions are real: what it would do is gathered.
class Told : Shelf {
 public:
  RunPlan plan;
  bool gpu = true;
  std::vector<std::string> refuted;
  std::vector<profile::Profile> unread;  ///< of the chain, until a further profile is needed
  bool read_catalogue = false;

  explicit Told(std::vector<std::string> chain = profile::default_chain()) {
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
    on(AttemptEnded{record, make_evidence(record, context), gpu, refuted});
  }
  void memory_is_back() {
    on(MemoryBack{});
    if (machine_.deadline()) {
      now_ = *machine_.deadline();
      on(PauseOver{});
    }
  }
  void signal(int number) { on(launch::ReceivedSignal{number, 0, launch::SignalOrigin::user}); }

  template <class Action>
  [[nodiscard]] std::vector<Action> all() const {
    std::vector<Action> found;
    for (const RunAction& one : done_)
      if (const auto* held = std::get_if<Action>(&one)) found.push_back(*held);
    return found;
  }
  template <class Action>
  [[nodiscard]] bool did() const {
    return !all<Action>().empty();
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
  void forget() { done_.clear(); }

 private:
  std::span<const profile::Profile> all_profiles() override {
    for (profile::Profile& one : std::exchange(unread, {})) plan.chain.push_back(std::move(one));
    return plan.chain;
  }
  const diagnose::Catalogue& catalogue() override {
    read_catalogue = true;
    return diagnose::catalogue();
  }

  RunMachine machine_{plan, *this};
  TimePoint now_{};
  std::vector<RunAction> done_;
};

}  // namespace

TEST_CASE("a job that goes well is one attempt, and its status is 0", "[run]") {
  Told run;
  run.begin();
  run.ends_with(went_well_record());
  CHECK(run.started() == std::vector<std::string>{"basic"});
  CHECK(run.exit_code() == 0);
  CHECK(run.did<KeepWhatWorked>());
  CHECK_FALSE(run.last_summary().failure);
}

TEST_CASE("the catalogue is read only once an attempt has failed: it takes 9 ms", "[run]") {
  Told run;
  run.begin();
  run.ends_with(went_well_record());
  CHECK_FALSE(run.read_catalogue);

  Told failing;
  failing.begin();
  failing.ends_with(hung_in(Stage::group));
  CHECK(failing.read_catalogue);
}

TEST_CASE("the host is checked before the first attempt", "[run]") {
  Told run;
  run.plan.options.preflight = true;
  run.on(RunBegins{});
  CHECK(run.did<CheckHost>());
  CHECK_FALSE(run.did<StartAttempt>());
  run.on(HostChecked{{.lines = {"ended pid 7"},
                      .findings = {{"shm-small", Severity::risk, "64 MiB", "more"}},
                      .trouble = ""}});
  CHECK(run.did<StartAttempt>());
  CHECK(run.did<RecordFinding>());
  CHECK(run.said().find("ended pid 7") != std::string::npos);
  CHECK(run.said().find("risk: ") != std::string::npos);
}

TEST_CASE("what blocks a run is told, all of it, and nothing is started", "[run]") {
  Told run;
  run.plan.options.preflight = true;
  run.on(RunBegins{});
  run.on(HostChecked{{.lines = {},
                      .findings = {{"port-taken", Severity::blocks, "held by pid 7", "end it"},
                                   {"python-missing", Severity::blocks, "no torch", "install"}},
                      .trouble = ""}});
  CHECK_FALSE(run.did<StartAttempt>());
  CHECK(run.exit_code() == 75);
  REQUIRE(run.all<SayFailure>().size() == 1);
  CHECK(run.all<SayFailure>().front().text.find("held by pid 7") != std::string::npos);
  CHECK(run.all<SayFailure>().front().text.find("no torch") != std::string::npos);
}

TEST_CASE("an attempt that cannot be started ends the run with the error's status", "[run]") {
  Told run;
  run.on(RunBegins{});
  run.on(AttemptNotStarted{{Errc::not_found, "no such program"}});
  CHECK(run.exit_code() == exit_code_of(Errc::not_found));
  CHECK_FALSE(run.did<ProbeBesideAttempt>());
}

TEST_CASE("the first attempt alone is probed beside", "[run]") {
  Told run;
  run.begin();
  CHECK(run.did<ProbeBesideAttempt>());
  run.ends_with(hung_in(Stage::group));
  run.memory_is_back();
  run.forget();
  run.on(AttemptStarted{});
  CHECK_FALSE(run.did<ProbeBesideAttempt>());
}

TEST_CASE("a hang is followed by the next profile once the GPUs' memory is back", "[run]") {
  Told run;
  run.begin();
  run.ends_with(hung_in(Stage::group));
  CHECK(run.did<AwaitGpuMemory>());
  CHECK(run.started() == std::vector<std::string>{"basic"});
  CHECK(run.last_summary().failure->kind == FailureKind::hung);
  CHECK(run.last_summary().next.starts_with("conservative: "));
  run.memory_is_back();
  CHECK(run.started() == std::vector<std::string>{"basic", "conservative"});
  run.ends_with(went_well_record());
  CHECK(run.exit_code() == 0);
  CHECK(run.all<KeepWhatWorked>().front().attempts == 2);
}

TEST_CASE("memory that does not come back is told, and the run goes on", "[run]") {
  Told run;
  run.begin();
  run.ends_with(hung_in(Stage::group));
  run.on(MemoryBack{"GPU 0 still holds 40 GiB"});
  CHECK(run.said() == "warning: GPU 0 still holds 40 GiB\n");
  CHECK(run.started().size() == 2);
}

TEST_CASE("the script's own failure is not tried again, and keeps its status", "[run]") {
  Told run;
  run.begin();
  run.ends_with(script_failed());
  CHECK(run.started().size() == 1);
  CHECK(run.exit_code() == 3);
  CHECK(std::string(report::end_name(run.last_summary().failure)) == "failed");
  CHECK(run.did<TellFirstFailure>());
}

TEST_CASE("a person reads the first failure last, a program its object last", "[run]") {
  const bool json = GENERATE(false, true);
  Told run;
  run.plan.options.json = json;
  run.begin();
  run.ends_with(script_failed());
  CHECK(run.last_is<EndRun>() == json);
  CHECK(run.last_is<TellFirstFailure>() == !json);
}

TEST_CASE("a chain that is used up ends the run with the status of its last attempt", "[run]") {
  Told run({"basic", "conservative"});
  run.begin();
  run.ends_with(hung_in(Stage::group));
  run.memory_is_back();
  run.ends_with(hung_in(Stage::group));
  CHECK(run.exit_code() == 124);
  CHECK(run.all<EndRun>().front().stopped_because == "2 attempts were made");
}

TEST_CASE("what a probe beside the attempt saw fail is not tried", "[run]") {
  Told run;
  run.begin();
  run.refuted = {"conservative"};
  run.ends_with(hung_in(Stage::group));
  run.memory_is_back();
  CHECK(run.said() == "not conservative: a probe showed that it fails here\n");
  CHECK(run.started().back() != "conservative");
}

TEST_CASE("a probe beside the attempt switches to the profile that works", "[run]") {
  Told run;
  run.begin();
  diagnose::Diagnosis diagnosis;
  diagnosis.failure.cause = "shm-small";
  diagnosis.decision = diagnose::FallBack{};
  NextStep step;
  step.profile = run.plan.chain.back();
  step.why = "a probe showed that it works here";
  run.on(SwitchFound{diagnosis, step});
  CHECK(run.did<EndAttemptForAnother>());
  AttemptRecord record;
  record.gave_way = true;
  run.ends_with(record);
  CHECK(run.last_summary().failure->kind == FailureKind::given_up);
  CHECK(run.last_summary().failure->cause == "shm-small");
  run.memory_is_back();
  CHECK(run.started().back() == run.plan.chain.back().name);
}

TEST_CASE("a signal to an attempt that makes way ends the run instead", "[run]") {
  Told run;
  run.begin();
  NextStep step;
  step.profile = run.plan.chain.back();
  run.on(SwitchFound{{}, step});
  AttemptRecord record;
  record.gave_way = true;
  record.signal = SIGTERM;
  run.ends_with(record);
  CHECK(run.exit_code() == 128 + SIGTERM);
  CHECK(run.started().size() == 1);
}

TEST_CASE("after a first failure in NCCL what follows is probed, and the fastest is taken",
          "[run]") {
  Told run;
  run.begin();
  run.ends_with(failed_in_nccl());
  REQUIRE(run.did<ProbeCandidates>());
  CHECK_FALSE(run.did<RecordAttempt>());
  const auto candidates = run.all<ProbeCandidates>().front().candidates;
  REQUIRE_FALSE(candidates.empty());
  run.on(ProfileChosen{candidates.back().name, {}});
  CHECK(run.last_summary().next.ends_with("a probe showed that it works here, and none is faster"));
  run.memory_is_back();
  CHECK(run.started().back() == candidates.back().name);
}

TEST_CASE("a chain that grows while it is read does not change the profile of an attempt",
          "[run]") {
  Told run;
  run.unread.assign(run.plan.chain.begin() + 1, run.plan.chain.end());
  run.plan.chain.resize(1);
  run.plan.chain.shrink_to_fit();
  run.begin();
  run.ends_with(failed_in_nccl());
  REQUIRE(run.did<ProbeCandidates>());
  CHECK(run.plan.chain.size() > 1);
  CHECK(run.all<ProbeCandidates>().front().failed.name == "basic");
}

TEST_CASE("where nothing can be probed the chain goes on as it stands", "[run]") {
  Told run;
  run.begin();
  run.ends_with(failed_in_nccl());
  REQUIRE(run.did<ProbeCandidates>());
  const std::string candidate = run.all<ProbeCandidates>().front().candidates.front().name;
  run.on(CannotProbe{});
  run.memory_is_back();
  CHECK(run.started().back() == candidate);
}

TEST_CASE("a taken port is tried again under the same profile on another one", "[run]") {
  Told run;
  run.begin();
  AttemptRecord record;
  record.command = Exited{1};
  record.ranks.world_size = 2;
  record.tails = {{{std::nullopt, output::StdStream::err},
                   "torch.distributed.DistNetworkError: The server socket has failed to listen on "
                   "any local network address. port: 29500, useIpv6: false, code: -98, name: "
                   "EADDRINUSE, message: address already in use\n"}};
  run.ends_with(record);
  run.memory_is_back();
  REQUIRE(run.all<StartAttempt>().size() == 2);
  CHECK(run.all<StartAttempt>().back().profile.name == "basic");
  CHECK(run.all<StartAttempt>().back().former_port == FormerPort::was_taken);
}

// One row a state: what a TERM does there.
TEST_CASE("TERM arrives in every state of a run", "[run]") {
  Told run;
  SECTION("while the host is checked") {
    run.plan.options.preflight = true;
    run.on(RunBegins{});
    run.signal(SIGTERM);
    CHECK(run.exit_code() == 143);
    run.on(HostChecked{});
    CHECK_FALSE(run.did<StartAttempt>());
  }
  SECTION("while an attempt runs it is the attempt's") {
    run.begin();
    run.signal(SIGTERM);
    CHECK(run.all<SignalAttempt>().size() == 1);
    CHECK_FALSE(run.exit_code());
  }
  SECTION("while what follows is probed") {
    run.begin();
    run.ends_with(failed_in_nccl());
    run.signal(SIGTERM);
    CHECK(run.exit_code() == 143);
    CHECK(std::string(report::end_name(run.last_summary().failure)) ==
          "failed in communication");  // the report has it all the same
    run.on(ProfileChosen{"conservative", {}});
    run.on(CannotProbe{});
    CHECK(run.started().size() == 1);
  }
  SECTION("while the GPUs' memory is awaited") {
    run.begin();
    run.ends_with(hung_in(Stage::group));
    run.signal(SIGTERM);
    CHECK(run.exit_code() == 143);
    run.on(MemoryBack{});
    CHECK(run.started().size() == 1);
  }
  SECTION("when the run is over") {
    run.begin();
    run.ends_with(went_well_record());
    run.signal(SIGTERM);
    CHECK(run.exit_code() == 0);
  }
}

TEST_CASE("other signals between two attempts are nobody's", "[run]") {
  Told run;
  run.begin();
  run.ends_with(hung_in(Stage::group));
  run.signal(SIGUSR1);
  CHECK_FALSE(run.exit_code());
  run.memory_is_back();
  CHECK(run.started().size() == 2);
}

TEST_CASE("a signal after a verdict ends the run", "[run]") {
  Told run;
  run.begin();
  AttemptRecord record = hung_in(Stage::group);
  record.late_signal = SIGTERM;
  run.ends_with(record);
  CHECK(run.exit_code() == 143);
  CHECK(run.started().size() == 1);
}
