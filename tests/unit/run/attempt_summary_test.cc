#include "launcher/run/attempt_summary.h"

#include "catch.h"
#include "safelaunch/base/cause_ids.h"
#include "safelaunch/diagnose/catalogue.h"

using namespace safelaunch;

using namespace safelaunch::plan;
using namespace safelaunch::run;
using namespace std::chrono_literals;

namespace {

RunPlan plan_of(job::Launcher launcher) {
  RunPlan plan;
  plan.command.launcher = launcher;
  return plan;
}

diagnose::Sighting seen(const char* cause, const std::string& line) {
  diagnose::Sighting sighting{};
  sighting.cause = &diagnose::catalogue().at(cause);
  sighting.line = line;
  return sighting;
}

AttemptRecord of_world(int size) {
  AttemptRecord record;
  record.ranks.world_size = size;
  return record;
}

diagnose::Diagnosis users_own() {
  diagnose::Diagnosis diagnosis;
  diagnosis.failure.cause = cause::kUserException;
  diagnosis.failure.certainty = Certainty::confirmed;
  diagnosis.decision = diagnose::Stop{diagnose::StopReason::users_own};
  return diagnosis;
}

}  // namespace

TEST_CASE("of an attempt that went well its time and its stages are told", "[attempt_summary]") {
  AttemptRecord record;
  record.took = 7s;
  record.stages = "group 2/2";
  const report::AttemptSummary summary = summary_of({3, "no-p2p", record});
  CHECK(summary.number == 3);
  CHECK(summary.profile == "no-p2p");
  CHECK(summary.took == 7s);
  CHECK(summary.stages == "group 2/2");
  CHECK_FALSE(summary.failure);
}

TEST_CASE("an attempt that a signal ended has no other cause", "[attempt_summary]") {
  AttemptRecord record;
  record.signal = 15;
  const report::AttemptSummary summary = summary_of({1, "basic", record}, users_own(), {});
  REQUIRE(summary.failure);
  CHECK(summary.failure->kind == FailureKind::interrupted);
  CHECK(summary.failure->cause.empty());
}

TEST_CASE("an attempt that made way was given up, for the reason that the probe found",
          "[attempt_summary]") {
  AttemptRecord record;
  record.gave_way = true;
  const report::AttemptSummary summary = summary_of({1, "basic", record}, users_own(), {});
  CHECK(summary.failure->kind == FailureKind::given_up);
  CHECK(summary.failure->cause == cause::kUserException);
  CHECK_FALSE(summary.told_by_itself);
}

TEST_CASE("three lines show a cause, each once", "[attempt_summary]") {
  diagnose::Diagnosis diagnosis = users_own();
  for (const char* line : {"a", "a", "b", "c", "d"})
    diagnosis.shown_by.push_back(seen(cause::kUserException, line));
  const report::AttemptSummary summary = summary_of({1, "basic", of_world(2)}, diagnosis, {});
  CHECK(summary.failure->lines == std::vector<std::string>{"a", "b", "c"});
}

TEST_CASE("what victims say of the rank that has gone shows no cause", "[attempt_summary]") {
  const auto& causes = diagnose::catalogue().causes();
  const auto victim = std::ranges::find(causes, diagnose::Kind::victim, &diagnose::Cause::kind);
  REQUIRE(victim != causes.end());
  diagnose::Diagnosis diagnosis = users_own();
  diagnosis.shown_by = {seen(victim->id.c_str(), "connection closed by peer"),
                        seen(cause::kUserException, "ValueError")};
  const report::AttemptSummary summary = summary_of({1, "basic", of_world(2)}, diagnosis, {});
  CHECK(summary.failure->lines == std::vector<std::string>{"ValueError"});
}

TEST_CASE("a single process that fails has told why by itself", "[attempt_summary]") {
  CHECK(speaks_for_itself(plan_of(job::Launcher::python), of_world(1), users_own()));
  CHECK_FALSE(speaks_for_itself(plan_of(job::Launcher::python), of_world(2), users_own()));
  CHECK_FALSE(speaks_for_itself(plan_of(job::Launcher::torchrun), of_world(1), users_own()));
  diagnose::Diagnosis tried_again = users_own();
  tried_again.decision = diagnose::FallBack{};
  CHECK_FALSE(speaks_for_itself(plan_of(job::Launcher::python), of_world(1), tried_again));
}

TEST_CASE("a cause that the process itself does not name is told", "[attempt_summary]") {
  diagnose::Diagnosis found = users_own();
  found.failure.cause = cause::kPortTaken;
  CHECK_FALSE(speaks_for_itself(plan_of(job::Launcher::python), of_world(1), found));
  found.failure.certainty = Certainty::guess;
  CHECK(speaks_for_itself(plan_of(job::Launcher::python), of_world(1), found));
}
