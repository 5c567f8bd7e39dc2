// The effect of each event in each state: read a table against the drawing of the states.
#include "run_happenings.h"

using namespace safelaunch;
using namespace safelaunch::run;
using RunTold = RunStory;

namespace {

/// One line an event: what it makes a run do that came into its state by `way`.
std::string what_run_does(const std::function<void(RunTold&)>& way) {
  return testing::table_of<RunWord, RunTold>(
      run_happenings(), way, [](RunTold& run, const HappensToRun& happens) { happens(run); });
}

}  // namespace

TEST_CASE("what each event does in each state of a run", "[run]") {
  SECTION("idle") {
    CHECK(what_run_does([](RunTold&) {}) == R"(
begins: start basic
not started: say failure, end with 75
ended by nodes: record attempt, say failure, end with 69
none to agree with: part from nodes, say
refused: part from nodes, say
end agreed: end with 0
end agreed with a reason: say failure, end with 69
INT: end with 130
INT twice: end with 130
TERM: end with 143
USR1: end with 138
nothing: host checked; host is blocked; started; ended here, others run; ended well; failed;
  over everywhere; switch found; profile chosen; none chosen; memory back; pause over too early;
  pause over; leads; nodes ready; a node is blocked; attempt agreed; another profile agreed;
  unknown profile agreed; INT that the ranks have
)");
  }
  SECTION("checking") {
    CHECK(what_run_does([](RunTold& run) {
            run.plan.options.preflight = true;
            run.on(RunBegins{});
          }) == R"(
host checked: start basic
host is blocked: record finding, say failure, end with 75
not started: say failure, end with 75
ended by nodes: record attempt, say failure, end with 69
none to agree with: part from nodes, say
refused: part from nodes, say
end agreed: end with 0
end agreed with a reason: say failure, end with 69
INT: end with 130
INT twice: end with 130
TERM: end with 143
USR1: end with 138
nothing: begins; started; ended here, others run; ended well; failed; over everywhere;
  switch found; profile chosen; none chosen; memory back; pause over too early; pause over;
  leads; nodes ready; a node is blocked; attempt agreed; another profile agreed;
  unknown profile agreed; INT that the ranks have
)");
  }
  SECTION("attempting") {
    CHECK(what_run_does([](RunTold& run) { run.begin(); }) == R"(
started: probe beside
not started: say failure, end with 75
ended here, others run: record attempt, keep what worked, end with 0
ended well: record attempt, keep what worked, end with 0
failed: record cause, record attempt, tell struck out, end with 3, tell first failure
over everywhere: record attempt, keep what worked, end with 0
ended by nodes: record attempt, say failure, end with 69
switch found: end for another
none to agree with: part from nodes, say
refused: part from nodes, say
end agreed: end with 0
end agreed with a reason: say failure, end with 69
INT: signal attempt
INT twice: signal attempt, signal attempt
TERM: signal attempt
USR1: signal attempt
nothing: begins; host checked; host is blocked; profile chosen; none chosen; memory back;
  pause over too early; pause over; leads; nodes ready; a node is blocked; attempt agreed;
  another profile agreed; unknown profile agreed; INT that the ranks have
)");
  }
  SECTION("probing") {
    CHECK(what_run_does([](RunTold& run) {
            run.begin();
            run.ends_with(failed_in_nccl());
          }) == R"(
not started: say failure, end with 75
ended by nodes: record attempt, say failure, end with 69
profile chosen: say, record attempt, tell fallback, await memory
none chosen: record attempt, tell fallback, await memory
none to agree with: part from nodes, say
refused: part from nodes, say
end agreed: record attempt, end with 0
end agreed with a reason: record attempt, end with 69
INT: record attempt, end with 130
INT twice: record attempt, end with 130
TERM: record attempt, end with 143
nothing: begins; host checked; host is blocked; started; ended here, others run; ended well;
  failed; over everywhere; switch found; memory back; pause over too early; pause over; leads;
  nodes ready; a node is blocked; attempt agreed; another profile agreed;
  unknown profile agreed; INT that the ranks have; USR1
)");
  }
  SECTION("waiting") {
    CHECK(what_run_does([](RunTold& run) {
            run.begin();
            run.ends_with(hung_in(Stage::group));
          }) == R"(
not started: say failure, end with 75
ended by nodes: record attempt, say failure, end with 69
memory back: start conservative
none to agree with: part from nodes, say
refused: part from nodes, say
end agreed: end with 0
end agreed with a reason: end with 69
INT: end with 130
INT twice: end with 130
TERM: end with 143
USR1: end with 124
nothing: begins; host checked; host is blocked; started; ended here, others run; ended well;
  failed; over everywhere; switch found; profile chosen; none chosen; pause over too early;
  pause over; leads; nodes ready; a node is blocked; attempt agreed; another profile agreed;
  unknown profile agreed; INT that the ranks have
)");
  }
  SECTION("pausing") {
    CHECK(what_run_does([](RunTold& run) {
            run.begin();
            run.ends_with(passes_by_itself());
            run.on(MemoryBack{});
          }) == R"(
not started: say failure, end with 75
ended by nodes: record attempt, say failure, end with 69
pause over: start basic
none to agree with: part from nodes, say
refused: part from nodes, say
end agreed: end with 0
end agreed with a reason: end with 69
INT: end with 130
INT twice: end with 130
TERM: end with 143
USR1: end with 1
nothing: begins; host checked; host is blocked; started; ended here, others run; ended well;
  failed; over everywhere; switch found; profile chosen; none chosen; memory back;
  pause over too early; leads; nodes ready; a node is blocked; attempt agreed;
  another profile agreed; unknown profile agreed; INT that the ranks have
)");
  }
  SECTION("over") {
    CHECK(what_run_does([](RunTold& run) {
            run.begin();
            run.ends_with(went_well_record());
          }) == R"(
nothing: begins; host checked; host is blocked; started; not started; ended here, others run;
  ended well; failed; over everywhere; ended by nodes; switch found; profile chosen;
  none chosen; memory back; pause over too early; pause over; leads; nodes ready;
  a node is blocked; attempt agreed; another profile agreed; unknown profile agreed;
  none to agree with; refused; end agreed; end agreed with a reason; INT; INT twice;
  INT that the ranks have; TERM; USR1
)");
  }
}
