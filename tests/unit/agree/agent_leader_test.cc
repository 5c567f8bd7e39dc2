#include "agent_story.h"

namespace safelaunch::agree {
namespace {

using Catch::Matchers::ContainsSubstring;

NodeEnd ended(int exit_code) {
  return {.attempt = 1, .exit_code = exit_code, .diagnosis = {}};
}

}  // namespace

TEST_CASE("a leader leads from the first word to the end of the run", "[agree]") {
  AgentStory agent;
  agent.leads();
  CHECK(agent.deeds() == "claim, say 1.1 gather");
  agent.on(NewsHere{});
  agent.member_is(1, NodePhase::ready);
  CHECK(agent.deeds() == "node 1 told");
  agent.member_is(2, NodePhase::ready);
  CHECK(agent.deeds() == "node 2 told, all ready");
  agent.wants();
  CHECK(agent.deeds() == "say 1.2 go 1, hold, start 1");
  agent.member_is(1, NodePhase::going);
  agent.member_is(2, NodePhase::going);
  agent.is_over();
  agent.member_is(1, NodePhase::ended, ended(0));
  CHECK(agent.deeds() == "node 1 told, node 2 told, node 1 told");
  agent.member_is(2, NodePhase::ended, ended(0));
  CHECK(agent.deeds() == "node 2 told, over everywhere 1, say 1.3 gather");
  agent.on(EndWanted{0, ""});
  agent.echo();
  CHECK(agent.deeds() == "say 1.4 end 0");
  agent.member_is(1, NodePhase::leaving);
  agent.on(SeatVacated{1});
  CHECK(agent.deeds() == "node 1 told, node 1 silent");
  agent.on(SeatVacated{2});
  CHECK(agent.deeds() == "node 2 silent, leave, end with 0");
}

TEST_CASE("a leader says nothing before the board has told it the last word of its predecessor",
          "[agree]") {
  AgentStory agent;
  agent.config.claim.seat = 0;
  agent.on(Joins{});
  agent.on(Seated{{0, 4}});
  CHECK_FALSE(agent.did<Say>());
  agent.on(WordCame{{3, 17, to_text(Decision{.order = Order::go, .attempt = 1, .gathered = 16})}});
  agent.confirmed();
  CHECK(agent.deeds() == "claim, say 4.18 gather");
  CHECK_FALSE(agent.did<StartHere>());
}

TEST_CASE("the leader's run learns what each node told", "[agree]") {
  AgentStory agent;
  agent.leads();
  agent.on(NewsHere{});
  agent.member_is(1, NodePhase::ready);
  agent.member(2, {.phase = NodePhase::ready, .heard = 1, .workers = 4});
  REQUIRE(agent.all<AllReady>().size() == 1);
  const auto standings = agent.all<AllReady>().front().standings;
  REQUIRE(standings.size() == 2);
  CHECK(news_from(standings.at(2).text)->workers == 4);
  CHECK(agent.all<NodeTold>().back().news.workers == 4);
  CHECK(agent.all<NodeTold>().back().host == "gpu-2");
}

TEST_CASE("an attempt that is wanted waits until all are ready", "[agree]") {
  AgentStory agent;
  agent.leads();
  agent.on(NewsHere{});
  agent.wants();
  agent.member_is(1, NodePhase::ready);
  agent.member_is(2, NodePhase::ready);
  CHECK(agent.did<StartHere>());
}

TEST_CASE("a node that is ready for an earlier word is not ready", "[agree]") {
  AgentStory agent;
  agent.leads();
  agent.all_come();
  agent.on(SeatVacated{2});
  agent.wants();
  CHECK_FALSE(agent.did<StartHere>());
  agent.member(2, {.phase = NodePhase::ready, .heard = 0}, "another");
  CHECK_FALSE(agent.did<StartHere>());
  agent.member_is(2, NodePhase::joined);
  CHECK_FALSE(agent.did<StartHere>());
  agent.member(2, {.phase = NodePhase::ready, .heard = 1}, "another");
  CHECK(agent.did<StartHere>());
}

TEST_CASE("a word is said only when the board has taken the one before", "[agree]") {
  AgentStory agent;
  agent.leads();
  agent.all_come();
  agent.forget();
  agent.on(AttemptWanted{{.order = Order::go, .attempt = 1}});
  agent.on(StopWanted{"a rank hangs"});
  CHECK(agent.all<Say>().size() == 1);
  CHECK_FALSE(agent.did<StartHere>());  // it starts what all hear
  agent.on(WordCame{agent.all<Say>().front().word});
  CHECK(agent.did_in_words() == "say 1.2 go 1, hold, start 1, say 1.3 stop");
}

TEST_CASE("a failure on any node stops all", "[agree]") {
  AgentStory agent;
  agent.leads_attempt();
  (void)agent.deeds();
  SECTION("a member's") {
    agent.member_is(2, NodePhase::ended, ended(1));
    CHECK(agent.all<StopHere>().front().why == "the attempt ended on node 2 (gpu-2) with 1");
    CHECK(agent.deeds() == "node 2 told, say 1.3 stop, stop");
    agent.is_over(0, false);
  }
  SECTION("the leader's own") {
    agent.is_over(3);
    agent.echo();
    CHECK(agent.deeds() == "say 1.3 stop");
    agent.member_is(2, NodePhase::stopped, ended(0));
  }
  SECTION("that the run has seen") {
    agent.on(StopWanted{"rank 3 hangs"});
    agent.echo();
    CHECK(agent.all<StopHere>().front().why == "rank 3 hangs");
    agent.is_over(0, false);
    agent.member_is(2, NodePhase::stopped, ended(0));
  }
  agent.member_is(1, NodePhase::stopped, ended(0));
  REQUIRE(agent.all<AttemptOverEverywhere>().size() == 1);
  CHECK(agent.all<AttemptOverEverywhere>().front().lost.empty());
  CHECK(agent.all<AttemptOverEverywhere>().front().news.size() == 2);
}

TEST_CASE("one node that ends well does not stop the others", "[agree]") {
  AgentStory agent;
  agent.leads_attempt();
  (void)agent.deeds();
  agent.member_is(1, NodePhase::ended, ended(0));
  agent.is_over();
  CHECK(agent.deeds() == "node 1 told");
}

TEST_CASE("after an attempt the next one begins once nothing runs anywhere", "[agree]") {
  AgentStory agent;
  agent.leads_attempt();
  agent.is_over(3);
  agent.echo();
  agent.member_is(1, NodePhase::stopped, ended(0));
  agent.wants(2);
  (void)agent.deeds();
  agent.member_is(2, NodePhase::stopped, ended(0));
  CHECK(agent.deeds() == "node 2 told, over everywhere 1, say 1.4 gather");
  agent.member_is(1, NodePhase::ready);
  agent.member_is(2, NodePhase::ready);
  CHECK(agent.deeds() == "node 1 told, node 2 told, all ready, say 1.5 go 2, hold, start 2");
}

TEST_CASE("a second signal at any agent hurries all, once", "[agree]") {
  AgentStory agent;
  agent.leads_attempt();
  NodeNews news{.phase = NodePhase::going, .attempt = 1, .heard = agent.word, .signal = 2};
  agent.member(2, news);
  (void)agent.deeds();
  SECTION("at a member") {
    news.hurry = true;
    agent.member(2, news);
    CHECK(agent.deeds() == "node 2 told, say 1.4 end 130, stop by 2");
  }
  SECTION("at the leader, whose run passes on what comes to it") {
    agent.on(SignalHere{2});
    agent.on(SignalHere{2});
    agent.echo();
    CHECK(agent.deeds() == "say 1.4 end 130");
  }
  agent.on(SignalHere{2});
  agent.member(2, news);
  CHECK(agent.deeds() == "node 2 told");
}

TEST_CASE("a node that killed its ranks for want of the board is lost, not failed", "[agree]") {
  AgentStory agent;
  agent.leads_attempt();
  NodeEnd killed = ended(137);
  killed.killed = true;
  agent.member_is(1, NodePhase::stopped, killed);  // it is there again
  agent.is_over(0, false);
  agent.member_is(2, NodePhase::stopped, ended(0));
  const auto over = agent.all<AttemptOverEverywhere>();
  REQUIRE(over.size() == 1);
  CHECK(over.front().lost == std::set<int>{1});
  CHECK_FALSE(over.front().news.contains(1));
}

TEST_CASE("a leader that killed its ranks for want of the board is lost, not failed", "[agree]") {
  AgentStory agent;
  agent.leads_attempt();
  agent.passes(agent.config.terms.lease);
  agent.is_over(137);
  agent.confirmed();
  agent.echo();
  agent.member_is(1, NodePhase::stopped, ended(0));
  agent.member_is(2, NodePhase::stopped, ended(0));
  const auto over = agent.all<AttemptOverEverywhere>();
  REQUIRE(over.size() == 1);
  CHECK(over.front().lost == std::set<int>{0});
}

TEST_CASE("a node that is gone stops the attempt, and is named as lost", "[agree]") {
  AgentStory agent;
  agent.leads_attempt();
  (void)agent.deeds();
  SECTION("its seat is free") {
    agent.on(SeatVacated{2});
  }
  SECTION("another agent has its seat already") {
    agent.member(2, {.phase = NodePhase::joined, .heard = agent.word}, "another");
  }
  agent.echo();
  CHECK(agent.all<StopHere>().front().why == "node 2 (gpu-2) is gone");
  agent.is_over(0, false);
  agent.member_is(1, NodePhase::stopped, ended(0));
  CHECK(agent.all<AttemptOverEverywhere>().front().lost == std::set<int>{2});
}

TEST_CASE("a node that did not start what it was sent off for stops the others", "[agree]") {
  AgentStory agent;
  agent.leads_attempt();
  agent.member_is(2, NodePhase::ready);
  CHECK(agent.all<StopHere>().front().why == "node 2 (gpu-2) has not started the attempt");
  agent.is_over(0, false);
  agent.member_is(1, NodePhase::stopped, ended(0));
  const auto over = agent.all<AttemptOverEverywhere>().front();
  CHECK(over.lost.empty());
  CHECK(over.news.at(2).end->exit_code == 69);
}

TEST_CASE("a leader tells who is missing, ever more rarely, and ends with their names", "[agree]") {
  AgentStory agent;
  agent.leads();
  agent.on(NewsHere{});
  agent.member_is(2, NodePhase::ready);
  agent.on(SeatVacated{2});
  agent.member_is(1, NodePhase::ready);
  agent.forget();
  agent.passes_confirmed(6s);
  CHECK(agent.told() == "2/3 nodes, waiting for node 2 (gpu-2), last heard 17s ago\n");
  agent.passes_confirmed(10min - 8s);
  CHECK(agent.all<TellUser>().size() == 6);
  CHECK_FALSE(agent.did<EndHere>());
  agent.forget();
  agent.passes_confirmed(4s);
  agent.echo();
  agent.on(SeatVacated{1});
  REQUIRE(agent.all<EndHere>().size() == 1);
  CHECK(agent.all<EndHere>().front().exit_code == 69);
  CHECK(agent.end_why() == "node 2 (gpu-2) did not come within 10min");
}

TEST_CASE("a node that is missing, not ready or gone is told so", "[agree]") {
  using Come = std::vector<std::pair<int, NodePhase>>;
  const auto told_of = [](const Come& come) {
    AgentStory agent;
    agent.leads();
    agent.on(NewsHere{});
    for (const auto& [seat, phase] : come) agent.member_is(seat, phase);
    if (!come.empty() && come.back().second == NodePhase::leaving) agent.on(SeatVacated{2});
    agent.passes_confirmed(6s);
    return agent.told();
  };
  CHECK(told_of({}) == "1/3 nodes, waiting for node 1 and node 2\n");
  CHECK(told_of({{1, NodePhase::ready}, {2, NodePhase::joined}}) ==
        "3/3 nodes, waiting for node 2 (gpu-2) to be ready\n");
  CHECK(told_of({{1, NodePhase::ready}, {2, NodePhase::leaving}}) ==
        "2/3 nodes, waiting for node 2 (gpu-2), left 4s ago\n");
}

TEST_CASE("a leader tells once who was turned away, and why, also where it ends for want of a node",
          "[agree]") {
  AgentStory agent;
  agent.leads();
  agent.on(NewsHere{});
  const std::string why = "an agent at 10.0.0.3 was not let in: its token is another one";
  for (int i = 0; i < 3; ++i) agent.on(TurnedAway{why});
  agent.member_is(1, NodePhase::ready);
  CHECK(agent.told() == why + "\n");
  agent.forget();
  for (int i = 0; i < 20; ++i) agent.on(TurnedAway{fmt::format("stranger {}", i)});
  CHECK(agent.all<TellUser>().size() == 7);  // eight in all
  agent.passes(10min);
  agent.confirmed();
  agent.echo();
  const std::vector<Say> said = agent.all<Say>();
  REQUIRE_FALSE(said.empty());
  CHECK_THAT(decision_from(said.back().word.text)->why,
             ContainsSubstring("node 2 did not come within 10min; " + why + "; stranger 0"));
}

TEST_CASE("where others may have no agent the leader sends all apart", "[agree]") {
  AgentStory agent;
  agent.config.apart_after = 30s;
  agent.leads();
  agent.on(NewsHere{});
  agent.member_is(1, NodePhase::ready);
  agent.passes_confirmed(31s);
  agent.echo();
  CHECK_FALSE(agent.did<GoApart>());  // node 1 has not heard it yet
  agent.on(SeatVacated{1});
  REQUIRE(agent.did<GoApart>());
  CHECK(agent.all<GoApart>().front().why == "node 2 did not come within 30s");
}

TEST_CASE("a leader that loses its lease kills its own ranks, and stops all once it is back",
          "[agree]") {
  AgentStory agent;
  agent.leads_attempt();
  (void)agent.deeds();
  agent.passes(10s);
  CHECK(agent.deeds() == "kill");
  agent.is_over(137);
  CHECK_FALSE(agent.did<Say>());
  agent.confirmed();
  CHECK(agent.deeds() == "say 1.3 stop");
}

TEST_CASE("a leader that has lost its seat ends, and does not lead the same run again", "[agree]") {
  AgentStory agent;
  agent.leads_attempt();
  (void)agent.deeds();
  agent.on(Unseated{"the board has heard nothing from this node for 13s"});
  CHECK(agent.did_in_words() == "kill");
  agent.is_over(137);
  CHECK(agent.did_in_words() == "kill, leave, end with 69");
  CHECK_THAT(agent.end_why(), ContainsSubstring("nothing from this node for 13s"));
}

TEST_CASE("a leader that has lost its seat before any attempt claims it again", "[agree]") {
  AgentStory agent;
  agent.leads();
  agent.all_come();
  (void)agent.deeds();
  agent.on(Unseated{"the board has heard nothing from this node for 13s"});
  CHECK(agent.deeds() == "claim");
  agent.on(Seated{{0, 2}});
  agent.on(WordCame{{1, 1, to_text(Decision{})}});
  agent.confirmed();
  CHECK(agent.deeds() == "say 2.2 gather");
}

TEST_CASE("what was wanted before the seat was lost is wanted still, once", "[agree]") {
  AgentStory agent;
  agent.leads();
  agent.on(NewsHere{});
  agent.wants();
  agent.on(Unseated{"the board has heard nothing from this node for 13s"});
  agent.generation = 2;
  agent.on(Seated{{0, 2}});
  agent.on(WordCame{{1, 1, to_text(Decision{})}});
  agent.confirmed();
  agent.echo();
  agent.member_is(1, NodePhase::ready);
  agent.member_is(2, NodePhase::ready);
  agent.wants();
  agent.is_over();
  agent.member_is(1, NodePhase::ended, ended(0));
  agent.member_is(2, NodePhase::ended, ended(0));
  agent.member_is(1, NodePhase::ready);
  agent.member_is(2, NodePhase::ready);
  CHECK(agent.all<StartHere>().size() == 1);
}

TEST_CASE("an end that no board hears any more comes in time", "[agree]") {
  AgentStory agent;
  agent.leads_attempt();
  agent.passes(10s);
  agent.is_over(137);
  (void)agent.deeds();
  agent.on(EndWanted{5, "over"});
  CHECK(agent.deeds().empty());
  agent.passes(13s);
  CHECK(agent.all<EndHere>().front().exit_code == 5);
}

TEST_CASE("the leader's questions go to all with the word that is in force", "[agree]") {
  AgentStory agent;
  agent.leads_attempt();
  (void)agent.deeds();
  agent.on(AttentionWanted{true, 4, {}, 2});
  const auto said = decision_from(agent.all<Say>().front().word.text);
  CHECK(said->order == Order::go);
  CHECK(said->watch);
  CHECK(said->question == 4);
  CHECK(said->count == 2);
  CHECK(said->gathered == 1);
  agent.echo();
  CHECK(agent.deeds() == "say 1.3 go 1");
  agent.member_is(1, NodePhase::going);
  CHECK(agent.deeds() == "node 1 told");
}

TEST_CASE("the leader's note goes to all while an attempt runs, and stays until it changes",
          "[agree]") {
  AgentStory agent;
  agent.leads_attempt();
  (void)agent.deeds();
  agent.on(AttentionWanted{false, 0, "ids"});
  CHECK(decision_from(agent.all<Say>().back().word.text)->note == "ids");
  agent.echo();
  agent.on(AttentionWanted{false, 0, "ids"});
  agent.member_is(1, NodePhase::going);
  CHECK(agent.deeds() == "say 1.3 go 1, node 1 told");
}

TEST_CASE(
    "before the first attempt all nodes are sent to each other's doors, and none starts before it "
    "has heard of it",
    "[agree]") {
  AgentStory agent;
  agent.leads();
  agent.all_come();
  agent.on(ReachWanted{"[1]"});
  agent.echo();
  agent.wants();
  agent.forget();
  agent.member_is(1, NodePhase::ready);
  CHECK(agent.deeds() == "node 1 told");
  agent.member_is(2, NodePhase::ready);
  CHECK(agent.deeds() == "node 2 told, say 1.3 go 1, hold, start 1");
}

TEST_CASE("a new word to go to the doors is followed once each", "[agree]") {
  AgentStory agent;
  agent.sits();
  agent.is_called();
  agent.forget();
  agent.hears({.order = Order::gather, .doors = "[1]"});
  agent.on(NewsHere{{.ways = "[]"}});
  agent.confirmed();
  CHECK(agent.all<ReachOthers>().size() == 1);
  agent.hears({.order = Order::gather, .doors = "[2]"});
  REQUIRE(agent.all<ReachOthers>().size() == 2);
  CHECK(agent.all<ReachOthers>().back().doors == "[2]");
}

TEST_CASE("news that cannot be read end the run: another version is there", "[agree]") {
  AgentStory agent;
  agent.leads();
  agent.on(StandingCame{{2, "m2", "gpu-2", "{}"}});
  agent.echo();
  agent.on(SeatVacated{2});
  CHECK(agent.all<EndHere>().front().exit_code == 69);
  CHECK_THAT(agent.end_why(),
             ContainsSubstring("node 2 (gpu-2)") && ContainsSubstring("same version"));
}

TEST_CASE("a standing of a seat that there is not is passed over", "[agree]") {
  AgentStory agent;
  agent.leads();
  agent.on(StandingCame{{7, "x", "y", "{}"}});
  agent.on(StandingCame{{-1, "x", "y", "{}"}});
  agent.on(StandingCame{{0, "x", "y", "{}"}});
  agent.echo();
  CHECK(agent.deeds() == "claim, say 1.1 gather");
}

TEST_CASE("news that nothing has changed cost no walk over ten thousand nodes", "[agree]") {
  constexpr int kNodes = 10'000;
  AgentStory agent;
  agent.config.claim.seats = kNodes;
  agent.leads();
  agent.on(NewsHere{});
  for (int seat = 1; seat < kNodes; ++seat)
    agent.on(
        StandingCame{{seat, "m", "gpu", to_text(NodeNews{.phase = NodePhase::ready, .heard = 1})}});
  CHECK(agent.did<AllReady>());
}

}  // namespace safelaunch::agree
