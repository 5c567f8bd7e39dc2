#include "safelaunch/nodes/node_facts.h"

#include "catch.h"
#include "safelaunch/nodes/node_evidence.h"

using namespace safelaunch;
using namespace safelaunch::nodes;
using namespace safelaunch::plan;

TEST_CASE("nodes that are alike differ in nothing", "[nodes]") {
  const NodeFacts facts{{"torch", "2.13.0"}, {"NCCL_IB_HCA", "mlx5_0"}};
  CHECK(differences({{"a", facts}, {"b", facts}}).empty());
  CHECK(differences({{"a", facts}}).empty());
}

TEST_CASE("a difference names the fact, the values and the nodes", "[nodes]") {
  const auto lines = differences({{"gpu-01", {{"torch", "2.13.0"}}},
                                  {"gpu-02", {{"torch", "2.13.0"}}},
                                  {"gpu-17", {{"torch", "2.12.1"}}}});
  REQUIRE(lines.size() == 1);
  CHECK(lines.front() == "the nodes differ in torch: 2.12.1 on gpu-17, 2.13.0 on gpu-01 gpu-02");
}

TEST_CASE("a variable of NCCL that one node lacks is a difference; an unknown version is none",
          "[nodes]") {
  const auto lines =
      differences({{"a", {{"NCCL_IB_DISABLE", "1"}, {"torch", "2.13.0"}}}, {"b", {{"x", "1"}}}});
  REQUIRE(lines.size() == 1);
  CHECK(lines.front() == "the nodes differ in NCCL_IB_DISABLE: (not set) on b, 1 on a");
}

TEST_CASE("of many nodes some are named, and the rest counted", "[nodes]") {
  std::map<std::string, NodeFacts> nodes{{"odd", {{"torch", "1"}}}};
  for (int i = 10; i < 90; ++i) nodes["n" + std::to_string(i)] = {{"torch", "2"}};
  CHECK(differences(nodes).front() ==
        "the nodes differ in torch: 1 on odd, 2 on n10 n11 n12 n13 and 76 more");
}

TEST_CASE("facts travel, and what is none is left out", "[nodes]") {
  const NodeFacts facts{{"torch", "2.13.0"}, {"the command", "torchrun x.py"}};
  CHECK(facts_from(to_text(facts)) == facts);
  CHECK(facts_from("[]").empty());
  CHECK(facts_from("{\"torch\":7,\"NCCL\":\"2\"}") == NodeFacts{{"NCCL", "2"}});
}

TEST_CASE("the words of a launcher that each node has for itself are not compared", "[nodes]") {
  RunPlan plan;
  plan.command = job::recognise({"torchrun", "--nnodes=2", "--node-rank", "1",
                                 "--local-addr=10.0.0.2", "no_such_script.py", "--lr", "1"},
                                {});
  CHECK(facts_of(plan).at("the command") == "torchrun --nnodes=2 no_such_script.py --lr 1");
}

TEST_CASE("what a node has said reaches the leader's diagnosis under its name", "[nodes]") {
  diagnose::Evidence theirs;
  theirs.output = {{"rank-3.err", Rank{3}, "NCCL WARN no socket\n"}};
  theirs.remarks = {"ranks 2 and 3 wait in the store"};
  diagnose::Evidence evidence;
  REQUIRE(add_evidence(to_text(theirs), {1, "gpu-17"}, evidence).has_value());
  REQUIRE(evidence.output.size() == 1);
  CHECK(evidence.output.front().source == "gpu-17/rank-3.err");
  CHECK(evidence.output.front().rank == Rank{3});
  CHECK(evidence.output.front().text == "NCCL WARN no socket\n");
  CHECK(evidence.remarks == std::vector<std::string>{"gpu-17: ranks 2 and 3 wait in the store"});
  CHECK_FALSE(add_evidence("[", {1, "gpu-17"}, evidence).has_value());
}

TEST_CASE("a node that says very much tells the ends of it", "[nodes]") {
  diagnose::Evidence theirs;
  theirs.output = {{"launcher.err", std::nullopt, std::string(1'000'000, 'x') + "the end"}};
  const std::string text = to_text(theirs);
  CHECK(text.size() < 64 * 1024);
  diagnose::Evidence evidence;
  REQUIRE(add_evidence(text, {1, "a"}, evidence).has_value());
  CHECK(evidence.output.front().text.ends_with("the end"));
}

TEST_CASE("ranks that failed on another node after this one's were through are known", "[nodes]") {
  ranks::RanksSeen seen;
  seen.exits = {{Rank{2}, {100, 1, 1}, Exited{4}}};
  ranks::RankPicture failed{.rank = Rank{3}, .process = {200, 1, 0}};
  failed.ended = true;
  failed.status = Exited{9};
  failed.raised = RankRaised{Rank{3}, {200, 1, 0}, "OSError", "cannot read /data", ""};
  ranks::RankPicture known = failed, well = failed, alive = failed;
  known.rank = Rank{2};
  well.rank = Rank{4};
  well.status = Exited{0};
  alive.rank = Rank{5};
  alive.ended = false;
  add_failed(1, {known, failed, well, alive}, seen);
  REQUIRE(seen.exits.size() == 2);
  CHECK(seen.exits.back().rank == Rank{3});
  CHECK(seen.exits.back().process == ProcessId{200, 1, 1});
  REQUIRE(seen.raised.size() == 1);
  CHECK(seen.raised.front().process.node == 1);
}

TEST_CASE("the leader's diagnosis learns the hosts of ranks that failed on other nodes",
          "[nodes]") {
  diagnose::Evidence evidence;
  evidence.failure.ended = {{Rank{0}, {100, 1, 0}, Exited{1}}, {Rank{2}, {100, 1, 1}, Exited{1}}};
  evidence.failure.raised = {{Rank{4}, {200, 1, 2}, "ValueError", "", ""}};
  evidence.ended_in_stop = {{Rank{6}, {300, 1, 3}, Exited{1}}};
  add_hosts({{1, "gpu-1"}, {2, "gpu-2"}}, evidence);
  CHECK(evidence.hosts == std::map<Rank, std::string>{{Rank{2}, "gpu-1"}, {Rank{4}, "gpu-2"}});
}
