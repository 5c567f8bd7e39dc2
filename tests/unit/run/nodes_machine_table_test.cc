// What each event does in each state of a run over several nodes, at the leader and at a member.
#include "run_story.h"

using namespace safelaunch;
using namespace safelaunch::run;

namespace {

using NodesTold = AgreeingRun;
using HappensToNodes = std::function<void(NodesTold&)>;

agree::Decision go_of(int attempt, const std::string& profile) {
  agree::Decision go;
  go.order = agree::Order::go;
  go.attempt = attempt;
  go.profile = profile;
  return go;
}

/// One line an event: what it makes a run do that came into its state by `way`.
std::string what_nodes_do(const std::function<void(NodesTold&)>& way) {
  const auto event = [](const RunEvent& one) -> HappensToNodes {
    return [one](NodesTold& run) { run.on(one); };
  };
  const auto signals = [](int times) -> HappensToNodes {
    return [times](NodesTold& run) {
      for (int i = 0; i < times; ++i) run.signal(SIGINT);
    };
  };
  const std::vector<std::pair<std::string, HappensToNodes>> events{
      {"leads", event(LeadsNodes{})},
      {"nodes ready", event(NodesReady{{"a line"}, {}, {}})},
      {"a node is blocked", event(NodesReady{{}, "gpu-1 is blocked", {}})},
      {"attempt agreed", event(AttemptAgreed{go_of(1, "basic")})},
      {"another profile agreed", event(AttemptAgreed{go_of(3, "no-shm")})},
      {"unknown profile agreed", event(AttemptAgreed{go_of(1, "our-own")})},
      {"not started", event(AttemptNotStarted{{Errc::blocked, "no port"}})},
      {"ended here", [](NodesTold& run) { run.ended_here(went_well_record()); }},
      {"ended well", [](NodesTold& run) { run.ends_with(went_well_record()); }},
      {"failed", [](NodesTold& run) { run.ends_with(script_failed()); }},
      {"ended by nodes",
       [](NodesTold& run) {
         const AttemptRecord record = went_well_record();
         run.on(EndedByNodes{record, 69, "gpu-1 is gone"});
       }},
      {"none to agree with", event(AgreedOnNone{"no other came"})},
      {"refused", event(NodesRefused{{Errc::bad_config, "the token"}})},
      {"switch found", event(SwitchFound{})},
      {"memory back", event(MemoryBack{})},
      {"end agreed", event(EndAgreed{0, ""})},
      {"end agreed with a reason", event(EndAgreed{69, "gpu-1 is gone"})},
      {"INT", signals(1)},
      {"INT twice", signals(2)},
      {"INT that the ranks have",
       [](NodesTold& run) {
         run.on(SignalPassedOn{});
         run.signal(SIGINT);
       }},
      {"USR1", [](NodesTold& run) { run.signal(SIGUSR1); }},
  };
  return testing::table_of<RunWord, NodesTold>(
      events, way, [](NodesTold& run, const HappensToNodes& happens) { happens(run); });
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
leads
nodes ready
a node is blocked
attempt agreed
another profile agreed
unknown profile agreed
not started: say failure, propose end with 75
ended here
ended well
failed
ended by nodes: record attempt, say failure, propose end with 69
none to agree with: part from nodes, say
refused: say failure, end with 78
switch found
memory back
end agreed: end with 0
end agreed with a reason: say failure, end with 69
INT: tell signal
INT twice: tell signal, tell signal, end with 130
INT that the ranks have: tell signal
USR1
)");
  }
  SECTION("gathering, a member") {
    CHECK(what_nodes_do([](NodesTold& run) { run.begin_alone(); }) == R"(
leads
nodes ready: say, propose basic
a node is blocked: say failure, propose end with 75
attempt agreed: start basic
another profile agreed: start no-shm
unknown profile agreed: tell not started
not started: say failure, propose end with 75
ended here
ended well
failed
ended by nodes: record attempt, say failure, propose end with 69
none to agree with: part from nodes, say, start basic
refused: say failure, end with 78
switch found
memory back
end agreed: end with 0
end agreed with a reason: say failure, end with 69
INT: tell signal
INT twice: tell signal, tell signal, end with 130
INT that the ranks have: tell signal
USR1
)");
  }
  SECTION("gathering, the leader") {
    CHECK(what_nodes_do([](NodesTold& run) { run.lead(); }) == R"(
leads
nodes ready: say, propose basic
a node is blocked: say failure, propose end with 75
attempt agreed: start basic
another profile agreed: start no-shm
unknown profile agreed: tell not started
not started: say failure, propose end with 75
ended here
ended well
failed
ended by nodes: record attempt, say failure, propose end with 69
none to agree with: part from nodes, say, start basic
refused: say failure, end with 78
switch found
memory back
end agreed: end with 0
end agreed with a reason: end with 69
INT: tell signal
INT twice: tell signal, tell signal, end with 130
INT that the ranks have: tell signal
USR1
)");
  }
  SECTION("attempting, a member") {
    CHECK(what_nodes_do(follow_attempt) == R"(
leads
nodes ready
a node is blocked
attempt agreed
another profile agreed
unknown profile agreed
not started: say failure, tell not started
ended here
ended well: record attempt
failed: record attempt
ended by nodes: record attempt, say failure, propose end with 69
none to agree with: part from nodes, say
refused: say failure, end with 78
switch found: end for another
memory back
end agreed: end with 0
end agreed with a reason: say failure, end with 69
INT: tell signal, signal attempt
INT twice: tell signal, signal attempt, tell signal, signal attempt
INT that the ranks have: tell signal
USR1: signal attempt
)");
  }
  SECTION("attempting, the leader") {
    CHECK(what_nodes_do(lead_attempt) == R"(
leads
nodes ready
a node is blocked
attempt agreed
another profile agreed
unknown profile agreed
not started: say failure, tell not started, propose end with 75
ended here
ended well: record attempt, keep what worked, propose end with 0
failed: record cause, record attempt, tell struck out, propose end with 3, tell first failure
ended by nodes: record attempt, say failure, propose end with 69
none to agree with: part from nodes, say
refused: say failure, end with 78
switch found: end for another
memory back
end agreed: end with 0
end agreed with a reason: end with 69
INT: tell signal, signal attempt
INT twice: tell signal, signal attempt, tell signal, signal attempt
INT that the ranks have: tell signal
USR1: signal attempt
)");
  }
  SECTION("over here, the leader") {
    CHECK(what_nodes_do([](NodesTold& run) {
            lead_attempt(run);
            run.ended_here(went_well_record());
          }) == R"(
leads
nodes ready
a node is blocked
attempt agreed
another profile agreed
unknown profile agreed
not started: say failure, tell not started, propose end with 75
ended here
ended well: record attempt, keep what worked, propose end with 0
failed: record cause, record attempt, tell struck out, propose end with 3, tell first failure
ended by nodes: record attempt, say failure, propose end with 69
none to agree with: part from nodes, say
refused: say failure, end with 78
switch found
memory back
end agreed: record attempt, end with 0
end agreed with a reason: record attempt, end with 69
INT: tell signal
INT twice: tell signal, tell signal, record attempt, end with 130
INT that the ranks have: tell signal
USR1
)");
  }
  SECTION("gathering again, a member") {
    CHECK(what_nodes_do([](NodesTold& run) {
            follow_attempt(run);
            run.ends_with(went_well_record());
          }) == R"(
leads
nodes ready
a node is blocked
attempt agreed: start basic
another profile agreed: start no-shm
unknown profile agreed: tell not started
not started: say failure, propose end with 75
ended here
ended well
failed
ended by nodes: record attempt, say failure, propose end with 69
none to agree with: part from nodes, say, start basic
refused: say failure, end with 78
switch found
memory back
end agreed: end with 0
end agreed with a reason: say failure, end with 69
INT: tell signal
INT twice: tell signal, tell signal, end with 130
INT that the ranks have: tell signal
USR1
)");
  }
  SECTION("probing, the leader") {
    CHECK(what_nodes_do([](NodesTold& run) {
            lead_attempt(run);
            run.ends_with(failed_in_nccl());
          }) == R"(
leads
nodes ready
a node is blocked
attempt agreed
another profile agreed
unknown profile agreed
not started: say failure, propose end with 75
ended here
ended well
failed
ended by nodes: record attempt, say failure, propose end with 69
none to agree with: part from nodes, say
refused: say failure, end with 78
switch found
memory back
end agreed: record attempt, end with 0
end agreed with a reason: record attempt, end with 69
INT: tell signal
INT twice: tell signal, tell signal, record attempt, end with 130
INT that the ranks have: tell signal
USR1
)");
  }
  SECTION("waiting for memory, the leader") {
    CHECK(what_nodes_do([](NodesTold& run) {
            lead_attempt(run);
            run.ends_with(hung_in(Stage::group));
          }) == R"(
leads
nodes ready
a node is blocked
attempt agreed
another profile agreed
unknown profile agreed
not started: say failure, propose end with 75
ended here
ended well
failed
ended by nodes: record attempt, say failure, propose end with 69
none to agree with: part from nodes, say
refused: say failure, end with 78
switch found
memory back: propose conservative
end agreed: end with 0
end agreed with a reason: end with 69
INT: tell signal
INT twice: tell signal, tell signal, end with 130
INT that the ranks have: tell signal
USR1: propose end with 124
)");
  }
  SECTION("pausing until a port is free, the leader") {
    CHECK(what_nodes_do([](NodesTold& run) {
            lead_attempt(run);
            run.ends_with(passes_by_itself());
            run.on(MemoryBack{});
          }) == R"(
leads
nodes ready
a node is blocked
attempt agreed
another profile agreed
unknown profile agreed
not started: say failure, propose end with 75
ended here
ended well
failed
ended by nodes: record attempt, say failure, propose end with 69
none to agree with: part from nodes, say
refused: say failure, end with 78
switch found
memory back
end agreed: end with 0
end agreed with a reason: end with 69
INT: tell signal
INT twice: tell signal, tell signal, end with 130
INT that the ranks have: tell signal
USR1: propose end with 1
)");
  }
  SECTION("the end is proposed, the leader") {
    CHECK(what_nodes_do([](NodesTold& run) {
            lead_attempt(run);
            run.ends_with(went_well_record());
          }) == R"(
leads
nodes ready
a node is blocked
attempt agreed: start basic
another profile agreed: start no-shm
unknown profile agreed: tell not started
not started: say failure, propose end with 75
ended here
ended well
failed
ended by nodes: record attempt, say failure, propose end with 69
none to agree with: part from nodes, say, start basic
refused: say failure, end with 78
switch found
memory back
end agreed: end with 0
end agreed with a reason: say failure, end with 69
INT: tell signal
INT twice: tell signal, tell signal, end with 130
INT that the ranks have: tell signal
USR1
)");
  }
  SECTION("over") {
    CHECK(what_nodes_do([](NodesTold& run) {
            lead_attempt(run);
            run.ends_with(went_well_record());
            run.on(EndAgreed{0, ""});
          }) == R"(
leads
nodes ready
a node is blocked
attempt agreed
another profile agreed
unknown profile agreed
not started
ended here
ended well
failed
ended by nodes
none to agree with
refused
switch found
memory back
end agreed
end agreed with a reason
INT
INT twice
INT that the ranks have
USR1
)");
  }
}
