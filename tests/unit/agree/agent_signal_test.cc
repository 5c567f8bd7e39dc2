#include "agent_story.h"

// Somebody wants the end of the job, at one node or at all of them.
namespace safelaunch::agree {
namespace {

using Catch::Matchers::ContainsSubstring;

NodeEnd over(int exit_code) {
  return {.attempt = 1, .exit_code = exit_code, .diagnosis = {}};
}

// SIGTERM came to node 2, and the ranks of all nodes save.
void saves(AgentStory& agent) {
  agent.leads_attempt();
  agent.forget();
  agent.member(2, {.phase = NodePhase::going, .attempt = 1, .heard = agent.word, .signal = 15});
}

}  // namespace

TEST_CASE("a signal at any agent ends the run on all", "[agree]") {
  AgentStory agent;
  agent.leads_attempt();
  (void)agent.deeds();
  SECTION("at a member") {
    agent.member(2, {.phase = NodePhase::going, .attempt = 1, .heard = agent.word, .signal = 15});
    CHECK(agent.deeds() == "node 2 told, say 1.3 stop, stop by 15");
    agent.is_over(0, false);
  }
  SECTION("at the leader") {
    agent.on(SignalHere{15});
    agent.echo();
    CHECK(agent.deeds() == "say 1.3 stop");
    agent.is_over(143);
  }
  CHECK(agent.deeds().empty());  // the others are still there
  agent.on(SeatVacated{1});
  agent.on(SeatVacated{2});
  agent.echo();
  CHECK_THAT(agent.end_why(),
             ContainsSubstring("signal SIGTERM at node") && ContainsSubstring("(gpu-"));
}

TEST_CASE("the status of a job that a signal ended is the one that its ranks chose",
          "[agree][bug]") {
  struct Row {
    int here, there, status;
  };
  const Row row = GENERATE(values<Row>(
      {{0, 0, 0}, {143, 143, 143}, {0, 143, 143}, {85, 143, 85}, {143, 85, 85}, {0, 85, 85}}));
  AgentStory agent;
  saves(agent);
  CHECK(agent.deeds() == "node 2 told, say 1.3 stop, stop by 15");
  agent.is_over(row.here);
  agent.member_is(1, NodePhase::stopped, over(row.there));
  CHECK(agent.deeds() == "node 1 told");  // node 2 saves still
  agent.member_is(2, NodePhase::stopped, over(row.here));
  CHECK(agent.deeds() == fmt::format("node 2 told, say 1.4 end {}", row.status));
  agent.on(SeatVacated{1});
  agent.on(SeatVacated{2});
  CHECK(agent.all<EndHere>().front().exit_code == row.status);
  CHECK(agent.end_why().empty() == (row.status == 0));
}

TEST_CASE("a job that a signal ends before all nodes have begun ends by the signal", "[agree]") {
  AgentStory agent;
  agent.leads();
  agent.all_come();
  agent.wants();
  agent.on(SignalHere{15});
  agent.echo();
  agent.is_over(0);
  agent.member_is(1, NodePhase::ready);
  agent.forget();
  agent.member_is(2, NodePhase::stopped, over(0));
  CHECK(agent.deeds() == "node 2 told, say 1.4 end 143");
}

TEST_CASE("whoever asks twice does not wait for the ranks that save", "[agree]") {
  AgentStory agent;
  saves(agent);
  agent.member(
      2,
      {.phase = NodePhase::going, .attempt = 1, .heard = agent.word, .signal = 15, .hurry = true});
  CHECK_THAT(agent.deeds(), ContainsSubstring("say 1.4 end 143, stop by 15"));
}

TEST_CASE("a job that loses a node while its ranks save ends by the signal", "[agree]") {
  AgentStory agent;
  saves(agent);
  agent.is_over(0);
  agent.member_is(1, NodePhase::stopped, over(0));
  agent.forget();
  agent.on(SeatVacated{2});
  agent.echo();
  CHECK_THAT(agent.deeds(), ContainsSubstring("say 1.4 end 143"));
}

TEST_CASE("a member waits for the leader as long as ranks of other nodes save", "[agree][bug]") {
  AgentStory agent;
  agent.goes();
  agent.on(SignalHere{15});
  agent.hears({.order = Order::stop, .attempt = 1, .signal = 15});
  agent.is_over(0);
  agent.passes_confirmed(5min);
  CHECK_FALSE(agent.did<EndHere>());
  agent.hears({.order = Order::end});
  CHECK(agent.all<EndHere>().front().exit_code == 0);
}

TEST_CASE("a signal at a member is told, and ends it with the others", "[agree]") {
  AgentStory agent;
  agent.goes();
  agent.forget();
  agent.on(SignalHere{15});
  CHECK(agent.deeds() == "publish going and the signal");  // the run has passed it on
  agent.hears({.order = Order::end, .exit_code = 143, .signal = 15});
  CHECK(agent.deeds().empty());
  agent.is_over(143);
  CHECK(agent.deeds() ==
        "publish stopped and the signal, publish leaving and the signal, leave, end with 143");
}

TEST_CASE("the end of the run stops what runs, with the signal", "[agree]") {
  AgentStory agent;
  agent.goes();
  agent.forget();
  agent.hears({.order = Order::end, .exit_code = 143, .signal = 15, .why = "signal 15 at node 0"});
  CHECK(agent.deeds() == "stop by 15");
  agent.is_over(0, false);
  CHECK(agent.deeds() == "publish stopped, publish leaving, leave, end with 143");
}

TEST_CASE("whoever asks twice for the end is not waited for on other nodes either", "[agree]") {
  AgentStory agent;
  agent.goes();
  agent.forget();
  Decision end{.order = Order::end, .exit_code = 130, .signal = 2, .why = "signal 2 at node 0"};
  const bool at_once = GENERATE(true, false);
  if (!at_once) agent.hears(end);
  end.hurry = true;
  agent.hears(end);
  CHECK(agent.deeds() == "stop by 2, stop by 2");
  agent.hears(end);
  CHECK(agent.deeds().empty());
}

TEST_CASE("a second signal at a member is told", "[agree]") {
  AgentStory agent;
  agent.goes();
  agent.on(SignalHere{2});
  CHECK_FALSE(agent.last_news()->hurry);
  agent.on(SignalHere{2});
  CHECK(agent.last_news()->hurry);
  agent.forget();
  agent.hears({.order = Order::end, .exit_code = 130, .signal = 2, .hurry = true});
  CHECK(agent.deeds().empty());  // the run has passed on both
}

}  // namespace safelaunch::agree
