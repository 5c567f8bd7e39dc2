// The deeds of a run when an attempt has ended in each way: alone, at the end of its chain, as a
// program that wants JSON reads it, and among the agents of several nodes.
#include "run_story.h"

using namespace safelaunch;
using namespace safelaunch::run;

namespace {

AttemptRecord with_signal(AttemptRecord record, int signal) {
  record.signal = signal;
  return record;
}

AttemptRecord hung_and_signalled_late() {
  AttemptRecord record = hung_in(Stage::group);
  record.late_signal = SIGTERM;
  return record;
}

AttemptRecord made_way() {
  AttemptRecord record;
  record.gave_way = true;
  return record;
}

AttemptRecord left_a_daemon() {
  AttemptRecord record = went_well_record();
  record.swept = {{7, "daemon"}};
  return record;
}

AttemptRecord ended_by_a_signal_with_0() {
  return with_signal(went_well_record(), SIGINT);
}

/// One line a way in which the attempt ends, with the run's deeds then.
template <class Story>
std::string what_follows(const std::function<void(Story&)>& way) {
  const std::vector<std::pair<std::string, AttemptRecord>> records{
      {"well", went_well_record()},
      {"well, and left a daemon", left_a_daemon()},
      {"the script failed", script_failed()},
      {"hung", hung_in(Stage::group)},
      {"NCCL failed", failed_in_nccl()},
      {"the port was taken", passes_by_itself()},
      {"INT, with 0", ended_by_a_signal_with_0()},
      {"INT, with 130", with_signal(script_failed(), SIGINT)},
      {"hung, and then TERM", hung_and_signalled_late()},
      {"made way", made_way()},
  };
  return testing::table_of<RunWord, Story>(
      records, way, [](Story& run, const AttemptRecord& record) { run.ends_with(record); });
}

}  // namespace

TEST_CASE("what follows each end of an attempt", "[run]") {
  SECTION("alone") {
    CHECK(what_follows<RunStory>([](RunStory& run) { run.begin(); }) == R"(
well: record attempt, keep what worked, end with 0
well, and left a daemon: record attempt, tell swept, keep what worked, end with 0
the script failed: record cause, record attempt, tell struck out, end with 3, tell first failure
hung: record cause, record attempt, tell fallback, await memory
NCCL failed: record cause, probe candidates
the port was taken: record cause, record attempt, tell fallback, await memory
INT, with 0: record attempt, tell struck out, end with 0, tell first failure
INT, with 130: record attempt, tell struck out, end with 3, tell first failure
hung, and then TERM: record cause, record attempt, tell struck out, end with 143, tell first failure
made way: record cause, record attempt, tell struck out, end with 1, tell first failure
)");
  }
  SECTION("alone, the last attempt that is allowed") {
    CHECK(what_follows<RunStory>([](RunStory& run) {
            run.plan.max_attempts = 1;
            run.begin();
          }) == R"(
well: record attempt, keep what worked, end with 0
well, and left a daemon: record attempt, tell swept, keep what worked, end with 0
the script failed: record cause, record attempt, tell struck out, end with 3, tell first failure
hung: record cause, record attempt, tell struck out, end with 124, tell first failure
NCCL failed: record cause, record attempt, tell struck out, end with 1, tell first failure
the port was taken: record cause, record attempt, tell fallback, await memory
INT, with 0: record attempt, tell struck out, end with 0, tell first failure
INT, with 130: record attempt, tell struck out, end with 3, tell first failure
hung, and then TERM: record cause, record attempt, tell struck out, end with 143, tell first failure
made way: record cause, record attempt, tell struck out, end with 1, tell first failure
)");
  }
  SECTION("for a program that reads JSON") {
    CHECK(what_follows<RunStory>([](RunStory& run) {
            run.plan.options.json = true;
            run.plan.max_attempts = 1;
            run.begin();
          }) == R"(
well: record attempt, keep what worked, end with 0
well, and left a daemon: record attempt, tell swept, keep what worked, end with 0
the script failed: record cause, record attempt, tell struck out, tell first failure, end with 3
hung: record cause, record attempt, tell struck out, tell first failure, end with 124
NCCL failed: record cause, record attempt, tell struck out, tell first failure, end with 1
the port was taken: record cause, record attempt, tell fallback, await memory
INT, with 0: record attempt, tell struck out, tell first failure, end with 0
INT, with 130: record attempt, tell struck out, tell first failure, end with 3
hung, and then TERM: record cause, record attempt, tell struck out, tell first failure, end with 143
made way: record cause, record attempt, tell struck out, tell first failure, end with 1
)");
  }
  SECTION("at the leader of several nodes") {
    CHECK(what_follows<AgreeingRun>([](AgreeingRun& run) {
            run.lead();
            run.agree(1, "basic");
          }) == R"(
well: record attempt, keep what worked, propose end with 0
well, and left a daemon: record attempt, tell swept, keep what worked, propose end with 0
the script failed: record cause, record attempt, tell struck out, propose end with 3, tell first failure
hung: record cause, record attempt, tell fallback, await memory
NCCL failed: record cause, probe candidates
the port was taken: record cause, record attempt, tell fallback, await memory
INT, with 0: record attempt, tell struck out, propose end with 0, tell first failure
INT, with 130: record attempt, tell struck out, propose end with 3, tell first failure
hung, and then TERM: record cause, record attempt, tell struck out, propose end with 143, tell first failure
made way: record cause, record attempt, tell struck out, propose end with 1, tell first failure
)");
  }
  SECTION("at a member") {
    CHECK(what_follows<AgreeingRun>([](AgreeingRun& run) {
            run.begin_alone();
            run.agree(1, "basic");
          }) == R"(
well: record attempt
well, and left a daemon: record attempt
the script failed: record attempt
hung: record attempt
NCCL failed: record attempt
the port was taken: record attempt
INT, with 0: record attempt
INT, with 130: record attempt
hung, and then TERM: record attempt
made way: record attempt
)");
  }
  SECTION("on a node that has left the agreement") {
    CHECK(what_follows<AgreeingRun>([](AgreeingRun& run) {
            run.begin_alone();
            run.on(AgreedOnNone{"no other came"});
          }) == R"(
well: record attempt, keep what worked, end with 0
well, and left a daemon: record attempt, tell swept, keep what worked, end with 0
the script failed: record cause, record attempt, tell struck out, end with 3, tell first failure
hung: record cause, record attempt, tell struck out, end with 124, tell first failure
NCCL failed: record cause, record attempt, tell struck out, end with 1, tell first failure
the port was taken: record cause, record attempt, tell fallback, await memory
INT, with 0: record attempt, tell struck out, end with 0, tell first failure
INT, with 130: record attempt, tell struck out, end with 3, tell first failure
hung, and then TERM: record cause, record attempt, tell struck out, end with 143, tell first failure
made way: record cause, record attempt, tell struck out, end with 1, tell first failure
)");
  }
}

TEST_CASE("an attempt whose end the others never told is in the report all the same", "[nodes]") {
  for (const bool failed : {false, true}) {
    AgreeingRun run;
    run.lead();
    run.agree(1, "basic");
    run.ended_here(failed ? script_failed() : went_well_record());
    run.signal(SIGINT);
    CHECK_FALSE(run.did<RecordAttempt>());
    run.signal(SIGINT);
    CHECK(run.exit_code() == 130);
    REQUIRE(run.all<RecordAttempt>().size() == 1);
    CHECK(run.last_summary().number == 1);
    CHECK(run.last_summary().profile == "basic");
    CHECK(run.last_summary().failure.has_value() == failed);
  }
}

TEST_CASE("an attempt that ended here and then everywhere is in the report once", "[nodes]") {
  AgreeingRun run;
  run.lead();
  run.agree(1, "basic");
  run.ended_here(went_well_record());
  run.ends_with(went_well_record());
  run.on(EndAgreed{0, ""});
  CHECK(run.all<RecordAttempt>().size() == 1);
  CHECK(run.exit_code() == 0);
}

TEST_CASE("a run that is over does nothing more, whatever the other nodes still tell", "[nodes]") {
  AgreeingRun run;
  run.begin_alone();
  run.signal(SIGINT);
  run.signal(SIGINT);
  REQUIRE(run.exit_code() == 130);
  run.forget();
  const AttemptRecord record = went_well_record();
  run.on(EndedByNodes{record, 69, "gpu-1 is gone"});
  run.on(NodesRefused{{Errc::bad_config, "the token"}});
  run.on(AgreedOnNone{"no other came"});
  run.on(AttemptNotStarted{{Errc::os, "no memory"}});
  run.on(EndAgreed{0, ""});
  CHECK(run.done().empty());
}
