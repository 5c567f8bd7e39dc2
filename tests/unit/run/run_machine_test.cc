#include "run_story.h"

using namespace safelaunch;

using namespace safelaunch::plan;
using namespace safelaunch::run;
using namespace std::chrono_literals;
using RunTold = RunStory;

namespace {

AttemptRecord torchrun_that_cannot_meet() {
  AttemptRecord record;
  record.command = Exited{1};
  record.tails = {{{std::nullopt, output::StdStream::err},
                   "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The "
                   "connection to the C10d store has failed. See inner exception for details.\n"}};
  return record;
}

}  // namespace

TEST_CASE("a job that goes well is one attempt, and its status is 0", "[run]") {
  RunTold run;
  run.begin();
  run.ends_with(went_well_record());
  CHECK(run.started() == std::vector<std::string>{"basic"});
  CHECK(run.exit_code() == 0);
  CHECK(run.did<KeepWhatWorked>());
  CHECK_FALSE(run.last_summary().failure);
}

TEST_CASE("the catalogue is read only once an attempt has failed: it takes 9 ms", "[run]") {
  RunTold run;
  run.begin();
  run.ends_with(went_well_record());
  CHECK_FALSE(run.read_catalogue);

  RunTold failing;
  failing.begin();
  failing.ends_with(hung_in(Stage::group));
  CHECK(failing.read_catalogue);
}

TEST_CASE("the host is checked before the first attempt", "[run]") {
  RunTold run;
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

TEST_CASE("where this host's own name leads nowhere, torchrun's ranks are told the loopback",
          "[run]") {
  RunTold run;
  run.plan.options.preflight = true;
  run.on(RunBegins{});
  run.on(HostChecked{{.lines = {},
                      .findings = {{"own-name-unknown", Severity::risk,
                                    "gpu-1 cannot be resolved; the ranks wait", "/etc/hosts"}},
                      .trouble = ""}});
  REQUIRE(run.did<StartAttempt>());
  CHECK(run.all<StartAttempt>().front().by_loopback);
  CHECK(run.said().find("risk: ") == std::string::npos);
  CHECK(run.said().find("gpu-1 cannot be resolved: torchrun's ranks are told") !=
        std::string::npos);
}

TEST_CASE("what was known of the host before a launcher failed explains its words", "[run]") {
  RunTold run;
  run.plan.options.preflight = true;
  run.on(RunBegins{});
  run.on(HostChecked{
      {.lines = {},
       .findings = {{"endpoint-not-own", Severity::risk, "10.77.0.5 is this host's", "is_host=1"}},
       .trouble = ""}});
  run.on(AttemptStarted{});
  run.ends_with(torchrun_that_cannot_meet());
  CHECK(run.last_summary().failure->cause == "endpoint-not-own");
  CHECK(run.exit_code() == 1);
}

TEST_CASE("a launcher that failed before any rank is not started again under settings of the ranks",
          "[run]") {
  RunTold run({"basic", "loopback", "conservative", "gloo-fallback"});
  run.begin();
  run.ends_with(torchrun_that_cannot_meet());
  CHECK(run.exit_code() == 1);
  CHECK(run.started() == std::vector<std::string>{"basic"});
  CHECK(run.last_summary().failure->cause == "launcher-cannot-meet");
}

TEST_CASE("a rank that came to communicate lets its settings be tried", "[run]") {
  RunTold run({"basic", "conservative"});
  run.begin();
  AttemptRecord record = hung_in(Stage::group);
  record.ranks.heard = true;
  run.ends_with(record);
  run.memory_is_back();
  CHECK(run.started().size() == 2);
}

TEST_CASE("what blocks a run is told, all of it, and nothing is started", "[run]") {
  RunTold run;
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
  RunTold run;
  run.on(RunBegins{});
  run.on(AttemptNotStarted{{Errc::not_found, "no such program"}});
  CHECK(run.exit_code() == exit_code_of(Errc::not_found));
  CHECK_FALSE(run.did<ProbeBesideAttempt>());
}

TEST_CASE("the first attempt alone is probed beside", "[run]") {
  RunTold run;
  run.begin();
  CHECK(run.did<ProbeBesideAttempt>());
  run.ends_with(hung_in(Stage::group));
  run.memory_is_back();
  run.forget();
  run.on(AttemptStarted{});
  CHECK_FALSE(run.did<ProbeBesideAttempt>());
}

TEST_CASE("a hang is followed by the next profile once the GPUs' memory is back", "[run]") {
  RunTold run;
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
  RunTold run;
  run.begin();
  run.ends_with(hung_in(Stage::group));
  run.on(MemoryBack{"GPU 0 still holds 40 GiB"});
  CHECK(run.said() == "warning: GPU 0 still holds 40 GiB\n");
  CHECK(run.started().size() == 2);
}

TEST_CASE("nothing is started into a GPU on which a kernel hangs", "[run]") {
  RunTold run;
  run.begin();
  run.ends_with(hung_in(Stage::group));
  run.on(MemoryBack{"GPU 0 computes", true});
  CHECK(run.started().size() == 1);
  CHECK(run.exit_code() == 124);
  CHECK(run.all<EndRun>().front().stopped_because == "GPU 0 computes");
}

TEST_CASE("the script's own failure is not tried again, and keeps its status", "[run]") {
  RunTold run;
  run.begin();
  run.ends_with(script_failed());
  CHECK(run.started().size() == 1);
  CHECK(run.exit_code() == 3);
  CHECK(std::string(report::end_name(run.last_summary().failure)) == "failed");
  CHECK(run.did<TellFirstFailure>());
}

TEST_CASE("a person reads the first failure last, a program its object last", "[run]") {
  const bool json = GENERATE(false, true);
  RunTold run;
  run.plan.options.json = json;
  run.begin();
  run.ends_with(script_failed());
  CHECK(run.last_is<EndRun>() == json);
  CHECK(run.last_is<TellFirstFailure>() == !json);
}

TEST_CASE("a chain that is used up ends the run with the status of its last attempt", "[run]") {
  RunTold run({"basic", "conservative"});
  run.begin();
  run.ends_with(hung_in(Stage::group));
  run.memory_is_back();
  run.ends_with(hung_in(Stage::group));
  CHECK(run.exit_code() == 124);
  CHECK(run.all<EndRun>().front().stopped_because == "2 attempts were made");
}

TEST_CASE("a taken port is tried again under the same profile on another one", "[run]") {
  RunTold run;
  run.begin();
  run.ends_with(passes_by_itself());
  run.memory_is_back();
  REQUIRE(run.all<StartAttempt>().size() == 2);
  CHECK(run.all<StartAttempt>().back().profile.name == "basic");
  CHECK(run.all<StartAttempt>().back().former_port == FormerPort::was_taken);
}

// One row a state: what a TERM does there.
// Slurm sends it some time before the end (`--signal=USR1@120`).
TEST_CASE("the pause before the same profile is waited out", "[run]") {
  RunTold run;
  run.begin();
  run.ends_with(passes_by_itself());
  run.on(MemoryBack{});
  REQUIRE(run.machine().deadline());
  run.on(PauseOver{});
  CHECK(run.started().size() == 1);  // woken too early
  run.memory_is_back();
  CHECK(run.started().size() == 2);
}

TEST_CASE("retries are counted for the present profile alone", "[run]") {
  RunTold run;
  run.begin();
  CHECK(run.machine().retries_of_profile() == 0);
  run.ends_with(passes_by_itself());
  CHECK(run.machine().retries_of_profile() == 1);
  run.memory_is_back();
  CHECK(run.machine().retries_of_profile() == 1);
  run.ends_with(hung_in(Stage::group));
  run.memory_is_back();
  CHECK(run.started().back() != "basic");
  CHECK(run.machine().retries_of_profile() == 0);
}

TEST_CASE("attempts are numbered as they start", "[run]") {
  RunTold run;
  run.begin();
  run.ends_with(hung_in(Stage::group));
  run.memory_is_back();
  run.ends_with(hung_in(Stage::group));
  run.memory_is_back();
  std::vector<int> numbers;
  for (const StartAttempt& one : run.all<StartAttempt>()) numbers.push_back(one.number);
  CHECK(numbers == std::vector<int>{1, 2, 3});
}

TEST_CASE("the port that was taken once stays given up", "[run]") {
  RunTold run;
  run.begin();
  run.ends_with(passes_by_itself());
  run.memory_is_back();
  run.ends_with(hung_in(Stage::group));
  run.memory_is_back();
  CHECK(run.all<StartAttempt>().front().former_port == FormerPort::none);
  CHECK(run.all<StartAttempt>().back().former_port == FormerPort::was_taken);
}

TEST_CASE("ranks that stand at the same place again end the chain", "[run]") {
  RunTold run;
  run.begin();
  AttemptRecord record = hung_in(Stage::group);
  record.verdict->missing.front().known = true;
  record.ranks.answers.stacks[Rank{1}] = {
      "train.py:50 load", "thread MainThread (innermost last)\n  train.py:50 load\n"};
  run.ends_with(record);
  run.memory_is_back();
  CHECK(run.started().size() == 2);
  run.ends_with(record);
  CHECK(run.exit_code() == 124);
  CHECK(run.all<EndRun>().front().stopped_because.starts_with("rank 1 stands in train.py:50"));
}

TEST_CASE("a second hang in which all ranks stand where they stood says so", "[run]") {
  RunTold run;
  run.begin();
  AttemptRecord record = hung_in(Stage::collective);
  record.verdict->missing.clear();
  for (const int rank : {0, 1})
    record.ranks.answers.stacks[Rank{rank}] = {"train.py:9 main → all_reduce", "frames", {}};
  const auto told = [&] {
    return run.last_summary().failure->explanation.find("at the same places in the attempt before");
  };
  run.ends_with(record);
  CHECK(told() == std::string::npos);
  run.memory_is_back();
  run.ends_with(record);
  CHECK(told() != std::string::npos);
}

TEST_CASE("the NCCL that an attempt has shown strikes out what it does not know", "[run]") {
  RunTold run({"basic", "no-shm"});
  run.begin();
  AttemptRecord record = hung_in(Stage::group);
  record.ranks.nccl.version = nccl::Version{.major = 2, .minor = 3, .patch = 4};
  record.ranks.nccl.any = true;
  run.plan.environment["NCCL_SHM_DISABLE"] = "1";  // the user's own value stays
  run.ends_with(record);
  REQUIRE(run.did<TellStruckOut>());
  CHECK(run.exit_code() == 124);
}

TEST_CASE("what a healthy job left running is told", "[run]") {
  RunTold run;
  run.begin();
  AttemptRecord record = went_well_record();
  record.swept = {{7, "daemon"}};
  run.ends_with(record);
  CHECK(run.did<TellSwept>());
  CHECK(run.exit_code() == 0);
}

TEST_CASE("the step that would follow counts the attempt that runs", "[run]") {
  RunTold run({"basic", "conservative"});
  run.begin();
  diagnose::Diagnosis diagnosis;
  diagnosis.decision = diagnose::FallBack{};
  const NextStep step = run.machine().would_follow(diagnosis, {"basic"});
  REQUIRE(step.profile);
  CHECK(step.profile->name == "conservative");
  run.plan.max_attempts = 1;
  CHECK_FALSE(run.machine().would_follow(diagnosis, {"basic"}).profile);
}

TEST_CASE("the cause of an attempt that a signal ended is not recorded: there is none", "[run]") {
  const bool signalled = GENERATE(false, true);
  RunTold run;
  run.begin();
  AttemptRecord record = script_failed();
  if (signalled) record.signal = SIGINT;
  run.ends_with(record);
  CHECK(run.did<RecordCause>() == !signalled);
}

TEST_CASE("checks that failed themselves do not keep a job from its start", "[run]") {
  RunTold run;
  run.plan.options.preflight = true;
  run.on(RunBegins{});
  run.on(HostChecked{{.lines = {}, .findings = {}, .trouble = "no end within 20s"}});
  CHECK(run.did<StartAttempt>());
  CHECK(run.said().find("no end within 20s") != std::string::npos);
}
