#include "run_story.h"

using namespace safelaunch;

using namespace safelaunch::plan;
using namespace safelaunch::run;
using namespace std::chrono_literals;
using RunTold = RunStory;

TEST_CASE("a signal of another kind that comes at once is passed on", "[run]") {
  for (const auto& [first, second] :
       {std::pair(SIGHUP, SIGQUIT), {SIGINT, SIGQUIT}, {SIGQUIT, SIGINT}, {SIGHUP, SIGTERM}}) {
    RunTold run;
    run.begin();
    run.signal(first, 71);
    run.signal(second, 71);
    CHECK(run.all<SignalAttempt>().size() == 2);
  }
}

TEST_CASE("a TERM that a wrapper adds to the terminal's INT is no second wish", "[run]") {
  RunTold run;
  run.begin();
  run.signal(SIGINT);
  run.signal(SIGTERM, 71);
  CHECK(run.all<SignalAttempt>().size() == 1);
  run.pass(Duration(500));
  run.signal(SIGTERM, 71);
  CHECK(run.all<SignalAttempt>().size() == 2);
}

TEST_CASE("a signal that was ignored at the start is the attempt's alone", "[run]") {
  const launch::ReceivedSignal ignored{SIGTERM, 71, launch::SignalOrigin::user, true};
  RunTold run;
  run.begin();
  run.on(ignored);
  run.on(ignored);
  CHECK(run.all<SignalAttempt>().size() == 2);
  run.ends_with(hung_in(Stage::group));
  run.on(ignored);
  CHECK_FALSE(run.exit_code());
  run.memory_is_back();
  CHECK(run.started().size() == 2);
}

TEST_CASE("two Ctrl-C are two, however fast somebody types", "[run]") {
  RunTold run;
  run.begin();
  run.signal(SIGINT);
  run.signal(SIGINT);
  CHECK(run.all<SignalAttempt>().size() == 2);
}

TEST_CASE("TERM arrives in every state of a run", "[run]") {
  RunTold run;
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
    run.on(ProfileChosen{});
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

TEST_CASE("a signal before the job is there ends the run as it would have ended the job", "[run]") {
  RunTold run;
  run.plan.options.preflight = true;
  run.on(RunBegins{});
  run.signal(SIGWINCH);
  CHECK_FALSE(run.exit_code());
  run.signal(SIGUSR2);
  CHECK(run.exit_code() == 128 + SIGUSR2);
  CHECK(run.started().empty());
}

TEST_CASE("other signals between two attempts are nobody's", "[run]") {
  RunTold run;
  run.begin();
  run.ends_with(hung_in(Stage::group));
  run.signal(SIGWINCH);
  CHECK_FALSE(run.exit_code());
  run.memory_is_back();
  CHECK(run.started().size() == 2);
}

TEST_CASE("no attempt follows SIGUSR1 or SIGUSR2, whenever they come", "[run]") {
  RunTold run;
  run.begin();
  SECTION("while the attempt runs, which gets the signal") {
    run.signal(SIGUSR1);
    CHECK(run.all<SignalAttempt>().size() == 1);
    run.ends_with(hung_in(Stage::group));
    CHECK(run.exit_code() == 124);
  }
  SECTION("while what follows is probed") {
    run.ends_with(failed_in_nccl());
    run.signal(SIGUSR2);
    CHECK_FALSE(run.exit_code());
    run.on(ProfileChosen{});
    CHECK(run.exit_code() == 1);
  }
  SECTION("while the next attempt waits for memory") {
    run.ends_with(hung_in(Stage::group));
    run.signal(SIGUSR1);
    CHECK(run.exit_code() == 124);
    run.on(MemoryBack{});
  }
  SECTION("while the next attempt waits for its time") {
    run.ends_with(passes_by_itself());
    run.on(MemoryBack{});
    run.signal(SIGUSR2);
    CHECK(run.exit_code() == 1);
  }
  CHECK(run.started().size() == 1);
  CHECK(run.all<EndRun>().front().stopped_because ==
        "SIGUSR1 or SIGUSR2 arrived; schedulers send it before they end a job");
}

TEST_CASE("a signal after a verdict ends the run", "[run]") {
  RunTold run;
  run.begin();
  AttemptRecord record = hung_in(Stage::group);
  record.late_signal = SIGTERM;
  run.ends_with(record);
  CHECK(run.exit_code() == 143);
  CHECK(run.started().size() == 1);
}
