// What each event does in each state: read a table against the drawing of the states.
#include "run_story.h"

using namespace safelaunch;

using namespace safelaunch::run;
using namespace std::chrono_literals;
using RunTold = RunStory;

namespace {

/// One line an event: what it makes a run do that came into its state by `way`.
std::string what_run_does(const std::function<void(RunTold&)>& way) {
  const std::vector<std::pair<std::string, RunEvent>> events{
      {"host checked", HostChecked{}},
      {"switch found", SwitchFound{}},
      {"cannot probe", CannotProbe{}},
      {"profile chosen", ProfileChosen{"no-shm", {"conservative"}}},
      {"none chosen", ProfileChosen{}},
      {"memory back", MemoryBack{}},
      {"pause over", PauseOver{}},
      {"TERM", launch::ReceivedSignal{SIGTERM, 0, launch::SignalOrigin::user}},
      {"USR1", launch::ReceivedSignal{SIGUSR1, 0, launch::SignalOrigin::user}},
  };
  return testing::table_of<RunWord, RunTold>(
      events, way, [](RunTold& story, const auto& event) { story.on(event); });
}

}  // namespace

TEST_CASE("what each event does in each state of a run", "[run]") {
  SECTION("checking") {
    CHECK(what_run_does([](RunTold& run) {
            run.plan.options.preflight = true;
            run.on(RunBegins{});
          }) == R"(
host checked: start basic
switch found
cannot probe
profile chosen
none chosen
memory back
pause over
TERM: end with 143
USR1
)");
  }
  SECTION("attempting") {
    CHECK(what_run_does([](RunTold& run) { run.begin(); }) == R"(
host checked
switch found: end for another
cannot probe
profile chosen
none chosen
memory back
pause over
TERM: signal attempt
USR1: signal attempt
)");
  }
  SECTION("probing") {
    CHECK(what_run_does([](RunTold& run) {
            run.begin();
            run.ends_with(failed_in_nccl());
          }) == R"(
host checked
switch found
cannot probe: record attempt, tell fallback, await memory
profile chosen: say, record attempt, tell fallback, await memory
none chosen: record attempt, tell fallback, await memory
memory back
pause over
TERM: record attempt, end with 143
USR1
)");
  }
  SECTION("waiting") {
    CHECK(what_run_does([](RunTold& run) {
            run.begin();
            run.ends_with(hung_in(Stage::group));
          }) == R"(
host checked
switch found
cannot probe
profile chosen
none chosen
memory back: start conservative
pause over
TERM: end with 143
USR1: end with 124
)");
  }
  SECTION("pausing") {
    CHECK(what_run_does([](RunTold& run) {
            run.begin();
            run.ends_with(passes_by_itself());
            run.on(MemoryBack{});
          }) == R"(
host checked
switch found
cannot probe
profile chosen
none chosen
memory back
pause over
TERM: end with 143
USR1: end with 1
)");
  }
  SECTION("over") {
    CHECK(what_run_does([](RunTold& run) {
            run.begin();
            run.ends_with(went_well_record());
          }) == R"(
host checked
switch found
cannot probe
profile chosen
none chosen
memory back
pause over
TERM
USR1
)");
  }
}
