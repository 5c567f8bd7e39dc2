// The effect of each event in each state of a run over several nodes, at the leader and at a
// member.
#include "run_happenings.h"

using namespace safelaunch;
using namespace safelaunch::run;

namespace {

using NodesTold = AgreeingRun;

/// One line an event: what it makes a run do that came into its state by `way`.
std::string what_nodes_do(const std::function<void(NodesTold&)>& way) {
  return testing::table_of<RunWord, NodesTold>(
      run_happenings(), way, [](NodesTold& run, const HappensToRun& happens) { happens(run); });
}

void lead_attempt(NodesTold& run) {
  run.lead();
  run.agree(1, "basic");
}

void follow_attempt(NodesTold& run) {
  run.begin_alone();
  run.agree(1, "basic");
}

}  // namespace

TEST_CASE("what each event does in each state of a run over several nodes", "[nodes]") {
  SECTION("checking") {
    CHECK(what_nodes_do([](NodesTold& run) {
            run.plan.options.preflight = true;
            run.begin_alone();
          }) == R"(
host checked: tell ready
host is blocked: record finding, say failure, tell blocked
not started: say failure, propose end with 75
ended by nodes: record attempt, say failure, propose end with 69
none to agree with: part from nodes, say
refused: say failure, end with 78
end agreed: end with 0
end agreed with a reason: say failure, end with 69
INT: tell signal
INT twice: tell signal, tell signal, end with 130
INT that the ranks have: tell signal
TERM: tell signal
nothing: begins; started; ended here, others run; ended well; failed; over everywhere;
  switch found; profile chosen; none chosen; memory back; pause over too early; pause over;
  leads; nodes ready; a node is blocked; attempt agreed; another profile agreed;
  unknown profile agreed; USR1
)");
  }
  SECTION("gathering, a member") {
    CHECK(what_nodes_do([](NodesTold& run) { run.begin_alone(); }) == R"(
not started: say failure, propose end with 75
ended by nodes: record attempt, say failure, propose end with 69
nodes ready: say, propose basic
a node is blocked: say failure, propose end with 75
attempt agreed: start basic
another profile agreed: start no-shm
unknown profile agreed: tell not started
none to agree with: part from nodes, say, start basic
refused: say failure, end with 78
end agreed: end with 0
end agreed with a reason: say failure, end with 69
INT: tell signal
INT twice: tell signal, tell signal, end with 130
INT that the ranks have: tell signal
TERM: tell signal
nothing: begins; host checked; host is blocked; started; ended here, others run; ended well;
  failed; over everywhere; switch found; profile chosen; none chosen; memory back;
  pause over too early; pause over; leads; USR1
)");
  }
  SECTION("gathering, the leader") {
    CHECK(what_nodes_do([](NodesTold& run) { run.lead(); }) == R"(
not started: say failure, propose end with 75
ended by nodes: record attempt, say failure, propose end with 69
nodes ready: say, propose basic
a node is blocked: say failure, propose end with 75
attempt agreed: start basic
another profile agreed: start no-shm
unknown profile agreed: tell not started, propose end with 78
none to agree with: part from nodes, say, start basic
refused: say failure, end with 78
end agreed: end with 0
end agreed with a reason: end with 69
INT: tell signal
INT twice: tell signal, tell signal, end with 130
INT that the ranks have: tell signal
TERM: tell signal
nothing: begins; host checked; host is blocked; started; ended here, others run; ended well;
  failed; over everywhere; switch found; profile chosen; none chosen; memory back;
  pause over too early; pause over; leads; USR1
)");
  }
  SECTION("attempting, a member") {
    CHECK(what_nodes_do(follow_attempt) == R"(
not started: say failure, tell not started
ended well: record attempt
failed: record attempt
over everywhere: record attempt, keep what worked, propose end with 0
ended by nodes: record attempt, say failure, propose end with 69
switch found: end for another
none to agree with: part from nodes, say
refused: say failure, end with 78
end agreed: end with 0
end agreed with a reason: say failure, end with 69
INT: tell signal, signal attempt
INT twice: tell signal, signal attempt, tell signal, signal attempt
INT that the ranks have: tell signal
TERM: tell signal, signal attempt
USR1: signal attempt
nothing: begins; host checked; host is blocked; started; ended here, others run; profile chosen;
  none chosen; memory back; pause over too early; pause over; leads; nodes ready;
  a node is blocked; attempt agreed; another profile agreed; unknown profile agreed
)");
  }
  SECTION("attempting, the leader") {
    CHECK(what_nodes_do(lead_attempt) == R"(
not started: say failure, tell not started, propose end with 75
ended well: record attempt, keep what worked, propose end with 0
failed: record cause, record attempt, tell struck out, propose end with 3, tell first failure
over everywhere: record attempt, keep what worked, propose end with 0
ended by nodes: record attempt, say failure, propose end with 69
switch found: end for another
none to agree with: part from nodes, say
refused: say failure, end with 78
end agreed: end with 0
end agreed with a reason: end with 69
INT: tell signal, signal attempt
INT twice: tell signal, signal attempt, tell signal, signal attempt
INT that the ranks have: tell signal
TERM: tell signal, signal attempt
USR1: signal attempt
nothing: begins; host checked; host is blocked; started; ended here, others run; profile chosen;
  none chosen; memory back; pause over too early; pause over; leads; nodes ready;
  a node is blocked; attempt agreed; another profile agreed; unknown profile agreed
)");
  }
  SECTION("over here, the leader") {
    CHECK(what_nodes_do([](NodesTold& run) {
            lead_attempt(run);
            run.ended_here(went_well_record());
          }) == R"(
not started: say failure, tell not started, propose end with 75
ended well: record attempt, keep what worked, propose end with 0
failed: record cause, record attempt, tell struck out, propose end with 3, tell first failure
over everywhere: record attempt, keep what worked, propose end with 0
ended by nodes: record attempt, say failure, propose end with 69
none to agree with: part from nodes, say
refused: say failure, end with 78
end agreed: record attempt, end with 0
end agreed with a reason: record attempt, say failure, end with 69
INT: tell signal
INT twice: tell signal, tell signal, record attempt, end with 130
INT that the ranks have: tell signal
TERM: tell signal
nothing: begins; host checked; host is blocked; started; ended here, others run; switch found;
  profile chosen; none chosen; memory back; pause over too early; pause over; leads;
  nodes ready; a node is blocked; attempt agreed; another profile agreed;
  unknown profile agreed; USR1
)");
  }
  SECTION("gathering again, a member") {
    CHECK(what_nodes_do([](NodesTold& run) {
            follow_attempt(run);
            run.ends_with(went_well_record());
          }) == R"(
not started: say failure, propose end with 75
ended by nodes: record attempt, say failure, propose end with 69
attempt agreed: start basic
another profile agreed: start no-shm
unknown profile agreed: tell not started
none to agree with: part from nodes, say, start basic
refused: say failure, end with 78
end agreed: end with 0
end agreed with a reason: say failure, end with 69
INT: tell signal
INT twice: tell signal, tell signal, end with 130
INT that the ranks have: tell signal
TERM: tell signal
nothing: begins; host checked; host is blocked; started; ended here, others run; ended well;
  failed; over everywhere; switch found; profile chosen; none chosen; memory back;
  pause over too early; pause over; leads; nodes ready; a node is blocked; USR1
)");
  }
  SECTION("probing, the leader") {
    CHECK(what_nodes_do([](NodesTold& run) {
            lead_attempt(run);
            run.ends_with(failed_in_nccl());
          }) == R"(
not started: say failure, propose end with 75
ended by nodes: record attempt, say failure, propose end with 69
profile chosen: say, record attempt, tell fallback, await memory
none chosen: record attempt, tell fallback, await memory
none to agree with: part from nodes, say
refused: say failure, end with 78
end agreed: record attempt, end with 0
end agreed with a reason: record attempt, end with 69
INT: tell signal
INT twice: tell signal, tell signal, record attempt, end with 130
INT that the ranks have: tell signal
TERM: tell signal
nothing: begins; host checked; host is blocked; started; ended here, others run; ended well;
  failed; over everywhere; switch found; memory back; pause over too early; pause over; leads;
  nodes ready; a node is blocked; attempt agreed; another profile agreed;
  unknown profile agreed; USR1
)");
  }
  SECTION("waiting for memory, the leader") {
    CHECK(what_nodes_do([](NodesTold& run) {
            lead_attempt(run);
            run.ends_with(hung_in(Stage::group));
          }) == R"(
not started: say failure, propose end with 75
ended by nodes: record attempt, say failure, propose end with 69
memory back: propose conservative
none to agree with: part from nodes, say
refused: say failure, end with 78
end agreed: end with 0
end agreed with a reason: end with 69
INT: tell signal
INT twice: tell signal, tell signal, end with 130
INT that the ranks have: tell signal
TERM: tell signal
USR1: propose end with 124
nothing: begins; host checked; host is blocked; started; ended here, others run; ended well;
  failed; over everywhere; switch found; profile chosen; none chosen; pause over too early;
  pause over; leads; nodes ready; a node is blocked; attempt agreed; another profile agreed;
  unknown profile agreed
)");
  }
  SECTION("pausing until a port is free, the leader") {
    CHECK(what_nodes_do([](NodesTold& run) {
            lead_attempt(run);
            run.ends_with(passes_by_itself());
            run.on(MemoryBack{});
          }) == R"(
not started: say failure, propose end with 75
ended by nodes: record attempt, say failure, propose end with 69
pause over: propose basic
none to agree with: part from nodes, say
refused: say failure, end with 78
end agreed: end with 0
end agreed with a reason: end with 69
INT: tell signal
INT twice: tell signal, tell signal, end with 130
INT that the ranks have: tell signal
TERM: tell signal
USR1: propose end with 1
nothing: begins; host checked; host is blocked; started; ended here, others run; ended well;
  failed; over everywhere; switch found; profile chosen; none chosen; memory back;
  pause over too early; leads; nodes ready; a node is blocked; attempt agreed;
  another profile agreed; unknown profile agreed
)");
  }
  SECTION("the end is proposed, the leader") {
    CHECK(what_nodes_do([](NodesTold& run) {
            lead_attempt(run);
            run.ends_with(went_well_record());
          }) == R"(
not started: say failure, propose end with 75
ended by nodes: record attempt, say failure, propose end with 69
attempt agreed: start basic
another profile agreed: start no-shm
unknown profile agreed: tell not started, propose end with 78
none to agree with: part from nodes, say, start basic
refused: say failure, end with 78
end agreed: end with 0
end agreed with a reason: say failure, end with 69
INT: tell signal
INT twice: tell signal, tell signal, end with 130
INT that the ranks have: tell signal
TERM: tell signal
nothing: begins; host checked; host is blocked; started; ended here, others run; ended well;
  failed; over everywhere; switch found; profile chosen; none chosen; memory back;
  pause over too early; pause over; leads; nodes ready; a node is blocked; USR1
)");
  }
  SECTION("over") {
    CHECK(what_nodes_do([](NodesTold& run) {
            lead_attempt(run);
            run.ends_with(went_well_record());
            run.on(EndAgreed{0, ""});
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
