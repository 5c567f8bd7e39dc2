#include <functional>

#include "agent_story.h"

namespace safelaunch::agree {
namespace {

using Catch::Matchers::ContainsSubstring;

}  // namespace

TEST_CASE("a member goes its way from its claim to the end", "[agree]") {
  AgentStory agent;
  agent.sits();
  CHECK(agent.deeds() == "claim, publish joined");
  agent.on(NewsHere{});
  CHECK(agent.deeds().empty());
  agent.hears({.order = Order::gather});
  CHECK(agent.deeds() == "publish ready");
  agent.is_sent_off();
  CHECK(agent.deeds() == "publish going, hold, start 1");
  agent.is_over();
  CHECK(agent.deeds() == "publish ended");
  agent.hears({.order = Order::end, .exit_code = 0});
  CHECK(agent.deeds() == "publish leaving, leave, end with 0");
  CHECK_FALSE(agent.machine().deadline());
}

TEST_CASE("a member is ready only when its checks are over", "[agree]") {
  AgentStory agent;
  agent.sits();
  agent.hears({.order = Order::gather});
  CHECK(agent.last_news()->phase == NodePhase::joined);
  agent.on(NewsHere{{.workers = 8}});
  CHECK(agent.last_news()->phase == NodePhase::ready);
  CHECK(agent.last_news()->workers == 8);
  CHECK(agent.last_news()->heard == 1);
}

TEST_CASE("an agent that comes while an attempt runs does not start it", "[agree]") {
  AgentStory agent;
  agent.on(NewsHere{});
  agent.sits();
  agent.word = 6;
  agent.hears({.order = Order::go, .attempt = 2, .gathered = 5});
  CHECK_FALSE(agent.did<StartHere>());
  CHECK(agent.last_news()->heard == 7);
  agent.hears({.order = Order::gather});
  agent.is_sent_off(3);
  CHECK(agent.did<StartHere>());
}

TEST_CASE("an agent starts an attempt once, however often it hears of it", "[agree]") {
  AgentStory agent;
  agent.goes();
  const Decision go{.order = Order::go, .attempt = 1, .gathered = 1, .profile = "basic"};
  agent.on(WordCame{{1, 2, to_text(go)}});
  agent.is_over();
  agent.on(WordCame{{1, 2, to_text(go)}});
  agent.on(WordCame{{1, 3, to_text(go)}});
  CHECK(agent.all<StartHere>().size() == 1);
}

TEST_CASE("an attempt that cannot be started is over at once, and no older news follow its end",
          "[agree]") {
  AgentStory agent;
  agent.sits();
  agent.is_called();
  std::vector<NodePhase> published;
  const std::function<void(const AgentEvent&)> happens = [&](const AgentEvent& event) {
    for (const AgentAction& action : agent.machine().on(event, agent.now)) {
      if (const auto* publish = std::get_if<Publish>(&action))
        published.push_back(publish->news.phase);
      if (std::holds_alternative<StartHere>(action)) happens(AttemptOverHere{{.exit_code = 78}});
    }
  };
  happens(WordCame{{1, 2, to_text(Decision{.order = Order::go, .attempt = 1, .gathered = 1})}});
  CHECK(published == std::vector{NodePhase::going, NodePhase::ended});
}

TEST_CASE("an agent starts nothing until its lease is confirmed", "[agree]") {
  AgentStory agent;
  agent.sits();
  agent.is_called();
  agent.passes(11s);
  agent.is_sent_off();
  CHECK_FALSE(agent.did<StartHere>());
  agent.confirmed();
  CHECK(agent.did<StartHere>());
}

TEST_CASE("a member that is told to stop stops, and says so when nothing runs", "[agree]") {
  AgentStory agent;
  agent.goes();
  agent.forget();
  agent.hears({.order = Order::stop, .attempt = 1, .why = "node 2 is gone"});
  CHECK(agent.all<StopHere>().front().why == "node 2 is gone");
  CHECK(agent.deeds() == "publish going, stop");
  agent.is_over(0, false);
  CHECK(agent.deeds() == "publish stopped");
  agent.hears({.order = Order::gather});
  CHECK(agent.deeds() == "publish ready");
}

TEST_CASE("ranks live as long as the lease, and are killed at its end", "[agree]") {
  AgentStory agent;
  agent.goes();
  CHECK(agent.all<HoldLease>().back().until == agent.now + 10s);
  agent.passes(2s);
  agent.on(Confirmed{agent.now - 1s});
  CHECK(agent.all<HoldLease>().back().until == agent.now + 9s);
  agent.forget();
  agent.on(Unreachable{"10.0.0.1:29400 does not answer"});
  agent.passes(8'999ms);
  CHECK(agent.done().empty());
  agent.passes(1ms);
  REQUIRE(agent.did<KillHere>());
  CHECK_THAT(agent.all<KillHere>().front().why, ContainsSubstring("10.0.0.1:29400"));
  SECTION("what was killed is told once the board is back") {
    agent.is_over(0, true);
    CHECK(agent.last_news()->phase == NodePhase::stopped);
    CHECK(agent.last_news()->end->exit_code == 137);
    agent.forget();
    agent.confirmed();
    agent.hears({.order = Order::gather});
    CHECK(agent.deeds() == "publish ready");
  }
  SECTION("and where the board does not come back it ends by itself") {
    agent.is_over(137, true);
    agent.passes(30s);
    CHECK(agent.all<EndHere>().front().exit_code == 69);
    CHECK_THAT(agent.end_why(), ContainsSubstring("gpu-1 waited 30s for the board"));
    CHECK_THAT(agent.told(), ContainsSubstring("waiting for the board of the nodes: 10.0.0.1"));
  }
}

TEST_CASE("an agent that was stopped beyond its lease kills before it believes what came meanwhile",
          "[agree]") {
  AgentStory agent;
  agent.goes();
  agent.passes(1s);
  agent.forget();
  agent.now += 9s;  // nothing came in time, not even its own deadline
  agent.on(Confirmed{agent.now - 1s});
  CHECK(agent.did<KillHere>());
  CHECK_FALSE(agent.did<HoldLease>());
}

TEST_CASE("a confirmation that is too old confirms nothing", "[agree]") {
  AgentStory agent;
  agent.sits();
  agent.passes(11s);
  agent.on(Confirmed{agent.now - 10s});
  agent.is_called();
  agent.is_sent_off();
  CHECK_FALSE(agent.did<StartHere>());
}

TEST_CASE("a member without its leader stops, and ends with a clear word", "[agree]") {
  AgentStory agent;
  agent.goes();
  agent.forget();
  agent.on(SeatVacated{0});
  CHECK(agent.deeds() == "stop");
  agent.is_over(0, false);
  SECTION("when no other comes") {
    agent.passes_confirmed(30s + 2s);
    CHECK_THAT(agent.end_why(), ContainsSubstring("waited 30s for node 0"));
  }
  SECTION("or goes on with another one, on its words alone") {
    agent.forget();
    agent.hears({.order = Order::gather});  // the former one's last word
    agent.generation = 2;
    agent.hears({.order = Order::gather});
    agent.is_sent_off(1);
    CHECK(agent.all<StartHere>().size() == 1);
  }
}

TEST_CASE("the word of a former leader starts nothing", "[agree]") {
  AgentStory agent;
  agent.sits();
  agent.is_called();
  agent.on(SeatVacated{0});
  agent.passes(11s);
  agent.on(Seated{{1, 2}});
  agent.confirmed();
  agent.is_sent_off();
  CHECK_FALSE(agent.did<StartHere>());
}

TEST_CASE("an attempt of a former leader is stopped when another one speaks", "[agree]") {
  AgentStory agent;
  agent.goes();
  agent.forget();
  agent.generation = 2;
  agent.hears({.order = Order::gather});
  CHECK(agent.deeds() == "stop");
}

TEST_CASE("an agent without its seat kills at once, and claims again when nothing runs",
          "[agree]") {
  AgentStory agent;
  agent.goes();
  agent.forget();
  agent.on(Unseated{"the board has not heard of this node"});
  CHECK(agent.deeds() == "kill");
  agent.is_over(137);
  CHECK(agent.deeds() == "claim");
  agent.on(Seated{{1, 1}});
  CHECK(agent.deeds() == "publish stopped");
  agent.hears({.order = Order::gather});
  CHECK(agent.deeds() == "publish ready");
  CHECK_FALSE(agent.did<StartHere>());
}

TEST_CASE("an agent that is parked while its ranks run ends them", "[agree]") {
  AgentStory agent;
  agent.goes();
  agent.forget();
  agent.on(Parked{"the board has come back"});
  CHECK(agent.deeds() == "kill, tell");
}

TEST_CASE("a spare says so once, and takes the seat that becomes free", "[agree]") {
  AgentStory agent;
  agent.on(Joins{});
  agent.on(Parked{"node 1 is held by the safelaunch on gpu-9"});
  agent.on(Parked{"node 1 is held by the safelaunch on gpu-9"});
  CHECK(agent.told() ==
        "this safelaunch is a spare and waits: node 1 is held by the safelaunch on gpu-9\n");
  CHECK_FALSE(agent.machine().deadline());
  agent.on(Seated{{1, 1}});
  CHECK(agent.machine().seat() == 1);
  CHECK(agent.deeds() == "claim, tell, publish joined");
}

TEST_CASE("an agent of a node that another one was all the time tells that nothing has run here",
          "[agree][bug]") {
  const bool any_seat = GENERATE(true, false);
  AgentStory agent;
  if (any_seat) agent.config.claim.seat.reset();
  agent.on(Joins{});
  agent.on(Parked{"node 1 is held by the safelaunch on gpu-9"});
  agent.hears({.order = Order::end});
  CHECK(agent.all<EndHere>().front().exit_code == 0);
  const auto told = ContainsSubstring("node 1 is held by the safelaunch on gpu-9; nothing has run");
  if (any_seat) CHECK_THAT(agent.told(), !told);
  if (!any_seat) CHECK_THAT(agent.told(), told);
}

TEST_CASE("a spare ends with the others", "[agree]") {
  AgentStory agent;
  agent.on(Joins{});
  agent.on(Parked{"all 3 nodes are here"});
  agent.hears({.order = Order::go, .attempt = 1});
  CHECK_FALSE(agent.did<StartHere>());
  agent.hears({.order = Order::end, .exit_code = 3});
  CHECK(agent.all<EndHere>().front().exit_code == 3);
}

TEST_CASE("a spare whose board is gone ends in time", "[agree]") {
  AgentStory agent;
  agent.on(Joins{});
  agent.on(Parked{"all 3 nodes are here"});
  agent.on(Unreachable{"connection refused"});
  agent.passes(10min);
  CHECK(agent.all<EndHere>().front().exit_code == 69);
}

TEST_CASE("a signal ends an agent in time, whether others answer or not", "[agree]") {
  AgentStory agent;
  SECTION("before it has joined") {
    agent.on(SignalHere{2});
    CHECK(agent.deeds() == "end with 130");
  }
  SECTION("before it has a seat") {
    agent.on(Joins{});
    agent.on(SignalHere{2});
    CHECK(agent.deeds() == "claim, leave, end with 130");
  }
  SECTION("a spare") {
    agent.on(Joins{});
    agent.on(Parked{"all 3 nodes are here"});
    agent.forget();
    agent.on(SignalHere{2});
    CHECK(agent.deeds() == "leave, end with 130");
  }
  SECTION("whose leader does not answer") {
    agent.goes();
    agent.forget();
    agent.on(SignalHere{2});
    agent.is_over(130);
    agent.passes_confirmed(8s);
    CHECK_FALSE(agent.did<EndHere>());
    agent.passes(2s);
    CHECK(agent.all<EndHere>().front().exit_code == 130);
  }
  SECTION("whose lease is over") {
    agent.goes();
    agent.passes(11s);
    agent.on(SignalHere{15});
    CHECK_FALSE(agent.did<EndHere>());
    agent.is_over(137);
    CHECK(agent.all<EndHere>().front().exit_code == 143);
  }
}

TEST_CASE("a member that has a signal starts nothing any more", "[agree]") {
  AgentStory agent;
  agent.sits();
  agent.is_called();
  agent.on(SignalHere{15});
  agent.is_sent_off();
  CHECK_FALSE(agent.did<StartHere>());
}

TEST_CASE("a member starts with the leader's note, and is told of each change once", "[agree]") {
  AgentStory agent;
  agent.sits();
  agent.is_called();
  Decision go{.order = Order::go, .attempt = 1, .gathered = 1, .profile = "basic"};
  go.note = "groups";
  agent.hears(go);
  CHECK(agent.all<StartHere>().front().go.note == "groups");
  CHECK(agent.all<AttendHere>().empty());
  go.note = "ids";
  agent.hears(go);
  agent.hears(go);
  REQUIRE(agent.all<AttendHere>().size() == 1);
  CHECK(agent.all<AttendHere>().front().note == "ids");
}

TEST_CASE("a member answers what the leader asks, each question once", "[agree]") {
  AgentStory agent;
  agent.goes();
  agent.forget();
  Decision go{.order = Order::go, .attempt = 1, .gathered = 1, .profile = "basic", .watch = true};
  agent.hears(go);
  CHECK(agent.deeds() == "attend true 0 0");
  go.question = 3;
  agent.hears(go);
  CHECK(agent.deeds() == "attend true 3 0");
  agent.hears(go);
  CHECK(agent.deeds().empty());
  go.count = 1;
  agent.hears(go);
  CHECK(agent.deeds() == "attend true 3 1");
}

TEST_CASE("a word that cannot be read ends the agent: another version leads", "[agree]") {
  AgentStory agent;
  agent.goes();
  agent.on(WordCame{{1, 9, "{\"order\": \"dance\"}"}});
  CHECK(agent.did<StopHere>());
  agent.is_over(0, false);
  CHECK_THAT(agent.end_why(), ContainsSubstring("same version"));
}

TEST_CASE("an agent that is refused ends with the error, or goes apart where that is better",
          "[agree]") {
  AgentStory agent;
  SECTION("refused") {
    agent.on(Joins{});
    agent.on(Refused{{Errc::usage, "wrong token"}});
    CHECK(agent.deeds() == "claim, end with 64");
  }
  SECTION("apart") {
    agent.config.apart_after = 30s;
    agent.on(Joins{});
    agent.on(Refused{{Errc::usage, "wrong token"}});
    CHECK(agent.deeds() == "claim, apart");
  }
}

TEST_CASE("where it is not certain that others have agents, one without any goes apart",
          "[agree]") {
  AgentStory agent;
  agent.config.apart_after = 30s;
  agent.on(Joins{});
  agent.on(Unreachable{"connection refused"});
  agent.passes(42s);
  CHECK_FALSE(agent.did<GoApart>());
  agent.passes(1s);
  CHECK(agent.did<GoApart>());
  CHECK_FALSE(agent.did<EndHere>());
}

TEST_CASE("the leader sends all apart", "[agree]") {
  AgentStory agent;
  agent.sits();
  agent.is_called();
  agent.forget();
  agent.hears({.order = Order::apart, .why = "node 2 did not come"});
  CHECK(agent.deeds() == "publish leaving, leave, apart");
}

TEST_CASE("an agent ends its waiting lines when it is over", "[agree]") {
  AgentStory agent;
  agent.on(Joins{});
  agent.passes(20min);
  CHECK(agent.all<EndHere>().size() == 1);
  CHECK(agent.all<TellUser>().size() == 6);  // after 5, 15, 35, 75, 155, 315 s
  CHECK_FALSE(agent.machine().deadline());
}

}  // namespace safelaunch::agree
