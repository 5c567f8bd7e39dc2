#include "run_story.h"

using namespace safelaunch;

using namespace safelaunch::plan;
using namespace safelaunch::run;
using namespace std::chrono_literals;
using RunTold = RunStory;

TEST_CASE("what a probe beside the attempt saw fail is not tried", "[run]") {
  RunTold run;
  run.begin();
  run.refuted = {"conservative"};
  run.ends_with(hung_in(Stage::group));
  run.memory_is_back();
  CHECK(run.said() == "skipping conservative: a probe showed that it fails here\n");
  CHECK(run.started().back() != "conservative");
}

TEST_CASE("a probe beside the attempt switches to the profile that works", "[run]") {
  RunTold run;
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
  RunTold run;
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
  RunTold run;
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
  RunTold run;
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
  RunTold run;
  run.begin();
  run.ends_with(failed_in_nccl());
  REQUIRE(run.did<ProbeCandidates>());
  const std::string candidate = run.all<ProbeCandidates>().front().candidates.front().name;
  run.on(ProfileChosen{});
  run.memory_is_back();
  CHECK(run.started().back() == candidate);
}

TEST_CASE("only the first failure in NCCL is probed after: a second one goes on along the chain",
          "[run]") {
  RunTold run({"basic", "conservative", "no-shm"});
  run.begin();
  run.ends_with(failed_in_nccl());
  REQUIRE(run.did<ProbeCandidates>());
  run.on(ProfileChosen{});
  run.memory_is_back();
  run.forget();
  run.ends_with(failed_in_nccl());
  CHECK_FALSE(run.did<ProbeCandidates>());
  CHECK(run.did<RecordAttempt>());
}

TEST_CASE("a failure before NCCL is not probed after", "[run]") {
  RunTold run;
  run.begin();
  AttemptRecord record = failed_in_nccl();
  record.verdict->stage = Stage::rendezvous;
  run.ends_with(record);
  CHECK_FALSE(run.did<ProbeCandidates>());
}

TEST_CASE("a job that runs no NCCL is not probed after", "[run]") {
  RunTold run;
  run.begin();
  AttemptRecord record = failed_in_nccl();
  record.ranks.nccl = {};
  run.ends_with(record);
  CHECK_FALSE(run.did<ProbeCandidates>());
}

TEST_CASE("profiles for gloo are no candidates for a probe of NCCL", "[run]") {
  RunTold run;
  run.begin();
  run.ends_with(failed_in_nccl());
  REQUIRE(run.did<ProbeCandidates>());
  const auto candidates = run.all<ProbeCandidates>().front().candidates;
  for (const profile::Profile& one : candidates) CHECK(one.backend == profile::Backend::keep);
}

TEST_CASE("a probe in which all candidates fail leaves what needs no NCCL", "[run]") {
  RunTold run({"basic", "no-shm", "gloo-fallback"});
  run.begin();
  run.ends_with(failed_in_nccl());
  REQUIRE(run.did<ProbeCandidates>());
  std::vector<std::string> refuted;
  const auto candidates = run.all<ProbeCandidates>().front().candidates;
  for (const profile::Profile& one : candidates) refuted.push_back(one.name);
  run.on(ProfileChosen{"", refuted});
  run.memory_is_back();
  CHECK(run.started().back() == "gloo-fallback");
}

TEST_CASE("a probe that leaves nothing to try ends the run with the attempt's status", "[run]") {
  RunTold run({"basic", "no-shm"});
  run.begin();
  run.ends_with(failed_in_nccl());
  REQUIRE(run.did<ProbeCandidates>());
  std::vector<std::string> refuted{"no-shm"};
  const auto candidates = run.all<ProbeCandidates>().front().candidates;
  for (const profile::Profile& one : candidates) refuted.push_back(one.name);
  run.on(ProfileChosen{"", refuted});
  CHECK(run.exit_code() == 1);
  CHECK(run.started() == std::vector<std::string>{"basic"});
}

TEST_CASE("a profile that a probe saw fail is told once, however often it is named", "[run]") {
  RunTold run;
  run.begin();
  run.refuted = {"conservative"};
  run.ends_with(hung_in(Stage::group));
  run.memory_is_back();
  run.ends_with(hung_in(Stage::group));
  CHECK(run.said() == "skipping conservative: a probe showed that it fails here\n");
}
