#include "launcher/nodes/probe_roster.h"

#include "catch.h"
#include "safelaunch/agree/decision.h"

using namespace safelaunch;
using namespace safelaunch::nodes;

namespace {

ProbedNode with_gpus(const std::string& host, int ranks = 8) {
  return {.host = host, .ranks = ranks, .profiles = "basic, no-shm"};
}

/// The standing of an agent that probes.
agree::Standing standing_of(const ProbedNode& node, const std::string& host,
                            std::optional<int> agreed = {}) {
  agree::NodeNews news;
  news.workers = agreed.value_or(node.ranks);
  news.facts = to_text(node);
  return {.seat = 1, .incarnation = "i", .host = host, .text = to_text(news)};
}

std::map<int, std::string> ids(int group) {
  return {{group, std::string(256, 'a')}};
}

/// The word of round 3: nodes 0 and 1 are one group, nodes 2 and 3 another.
probe::RoundWord two_groups() {
  return {.round = 3, .groups = {{0, 1}, {2, 3}}};
}
const std::vector<int> kRanks{2, 4, 8, 1};

RoundHere round_at(int seat) {
  return {3, to_text(two_groups()), seat, kRanks};
}

}  // namespace

TEST_CASE("nodes with GPUs and without trouble take part", "[probe_roster]") {
  const Roster roster = roster_of(with_gpus("gpu-0"), {{1, standing_of(with_gpus("x"), "gpu-1")}});
  CHECK(roster.able == probe::NodeGroup{0, 1});
  CHECK(roster.ill.empty());
  CHECK(roster.differ.empty());
  CHECK(ranks_of(roster.nodes) == std::vector<int>{8, 8});
}

TEST_CASE("the board's name of a node's host counts, not the one that the node tells of itself",
          "[probe_roster]") {
  const Roster roster =
      roster_of(with_gpus("gpu-0"), {{1, standing_of(with_gpus("liar"), "gpu-1")}});
  CHECK(roster.nodes.at(1).host == "gpu-1");
}

TEST_CASE("a node that cannot take part is left out with its own words", "[probe_roster]") {
  ProbedNode here = with_gpus("gpu-0");
  here.trouble = "no libnccl is installed";
  ProbedNode other = with_gpus("gpu-1");
  other.trouble = "its driver does not answer";
  const Roster roster = roster_of(
      here, {{1, standing_of(other, "gpu-1", 0)}, {2, standing_of(with_gpus("gpu-2"), "gpu-2")}});
  CHECK(roster.able == probe::NodeGroup{2});
  CHECK(roster.ill ==
        probe::IllNodes{{0, "no libnccl is installed"}, {1, "its driver does not answer"}});
}

TEST_CASE("a node without a GPU, or whose news cannot be read, is ill and has no ranks",
          "[probe_roster]") {
  const ProbedNode none = with_gpus("gpu-1", 0);
  for (const std::string& text : {standing_of(none, "gpu-1").text, std::string(), std::string("{"),
                                  std::string(R"({"phase":"gone"})")}) {
    Roster roster =
        roster_of({.host = "gpu-0", .ranks = 8},
                  {{1, {.seat = 1, .incarnation = "i", .host = "gpu-1", .text = text}}});
    CHECK(roster.ill == probe::IllNodes{{1, "it has told of no GPU"}});
    CHECK(ranks_of(roster.nodes) == std::vector<int>{8, 0});
  }
}

TEST_CASE(
    "where a node's facts and its agreement differ in the number of ranks, the agreement counts",
    "[probe_roster]") {
  const Roster roster =
      roster_of(with_gpus("gpu-0"), {{1, standing_of(with_gpus("gpu-1", 8), "gpu-1", 4)}});
  CHECK(ranks_of(roster.nodes) == std::vector<int>{8, 4});
}

TEST_CASE("nodes that were asked to probe different profiles are told apart before any rank runs",
          "[probe_roster]") {
  ProbedNode other = with_gpus("gpu-1");
  other.profiles = "basic";
  CHECK(roster_of(with_gpus("gpu-0"), {{1, standing_of(other, "gpu-1")}}).differ ==
        "gpu-1 (node 1) is to probe basic, and gpu-0 basic, no-shm: give all nodes the same "
        "options");
}

TEST_CASE("a node's texts are cut where they are too long, and at whole characters",
          "[probe_roster]") {
  ProbedNode node = with_gpus("gpu-0");
  node.gpus = std::string(999, 'x') + "ü";
  node.trouble = std::string(5'000, 'y');
  const ProbedNode read = probed_node_from(to_text(node));
  CHECK(read.gpus == std::string(999, 'x'));
  CHECK(read.trouble == std::string(1'000, 'y'));
}

TEST_CASE("a number of ranks that no node has is none", "[probe_roster]") {
  for (const char* ranks : {"-1", "1025", "\"8\"", "8.5", "null", "[8]"})
    CHECK(probed_node_from(std::string(R"({"ranks":)") + ranks + "}").ranks == 0);
  CHECK(probed_node_from(R"({"ranks":1024})").ranks == 1'024);
}

TEST_CASE("nodes that are lost are named with their seats", "[probe_roster]") {
  const ProbedNodes nodes{{0, with_gpus("a")}, {1, with_gpus("b")}, {2, with_gpus("c")}};
  CHECK(lost_in_words({2}, nodes) == "node 2 (c) was lost while ranks were probed");
  CHECK(lost_in_words({0, 2}, nodes) ==
        "node 0 (a) and node 2 (c) were lost while ranks were probed");
}

TEST_CASE("a node finds its place in the leader's word, or sits the round out", "[probe_roster]") {
  const auto place = round_at(1).place();
  REQUIRE(place);
  CHECK(place->group == 0);
  CHECK(place->part.first == 2);
  CHECK(place->part.all == 6);
  REQUIRE(round_at(3).place());
  CHECK(round_at(3).place()->group == 1);
  CHECK_FALSE(round_at(4).place());
  for (const char* note : {"", "{", "[]", R"({"round":0})"})
    CHECK_FALSE(RoundHere(3, note, 0, kRanks).place());
}

TEST_CASE("what the ranks of a node do in a round is told under the round's number",
          "[probe_roster]") {
  RoundHere here = round_at(0);
  CHECK(here.told() == probe::NodeRound{.round = 3});
  here.ready("the id");
  here.measured();
  here.trouble(probe::Trouble::hung);
  CHECK(here.told() == probe::NodeRound{.round = 3,
                                        .ready = true,
                                        .id = "the id",
                                        .measured = true,
                                        .trouble = probe::Trouble::hung});
}

TEST_CASE("the id of the node's own group is met with once, however often the word is said",
          "[probe_roster]") {
  RoundHere here = round_at(2);
  probe::RoundWord word = two_groups();
  CHECK_FALSE(here.id_to_meet(word));
  word.ids = ids(0);
  CHECK_FALSE(here.id_to_meet(word));  // another group's
  word.ids = ids(1);
  CHECK(here.id_to_meet(word) == std::string(256, 'a'));
  CHECK_FALSE(here.id_to_meet(word));
}

TEST_CASE("the others are over once, and only those of the node's own group", "[probe_roster]") {
  RoundHere here = round_at(2);
  probe::RoundWord word = two_groups();
  word.over = {0};
  CHECK_FALSE(here.others_are_over(word));
  word.over = {0, 1};
  CHECK(here.others_are_over(word));
  CHECK_FALSE(here.others_are_over(word));
}

TEST_CASE("a word of another round, or to a node that sits out, says nothing", "[probe_roster]") {
  probe::RoundWord word = two_groups();
  word.ids = ids(1);
  word.over = {1};
  RoundHere outside = round_at(9);
  RoundHere here = round_at(2);
  for (const int round : {2, 4}) {
    word.round = round;
    CHECK_FALSE(here.id_to_meet(word));
    CHECK_FALSE(here.others_are_over(word));
  }
  word.round = 3;
  CHECK_FALSE(outside.id_to_meet(word));
  CHECK_FALSE(outside.others_are_over(word));
}

TEST_CASE("ranks that failed or hang are counted over all nodes of their group", "[probe_roster]") {
  RoundHere failed = round_at(1);
  failed.over({probe::Failed{{{0, probe::Phase::init, "no"}, {3, probe::Phase::init, "no"}}}, ""});
  CHECK(failed.told().verdict == probe::Verdict(probe::Failed{{{2, probe::Phase::init, "no"},
                                                               {5, probe::Phase::init, "no"}}}));
  RoundHere hung = round_at(3);
  hung.over({probe::Hung{probe::Phase::init, {0}}, "", true});
  CHECK(hung.told().verdict == probe::Verdict(probe::Hung{probe::Phase::init, {8}}));
  CHECK(hung.told().cut_short);
  RoundHere untold = round_at(1);
  untold.over({probe::Untold{"a signal"}, ""});
  CHECK(untold.told().verdict == probe::Verdict(probe::Untold{"a signal"}));
}

TEST_CASE("the cause in NCCL's lines is told, but not that aborted ranks lose each other",
          "[probe_roster]") {
  const std::string lost =
      "gpu-1:7:7 [0] misc/socket.cc:60 NCCL WARN socketProgress: Connection closed by remote peer "
      "gpu-0<50614>\n";
  RoundHere failed = round_at(1);
  failed.over({probe::Failed{{{0, probe::Phase::init, "no"}}}, lost});
  CHECK(failed.told().cause == "peer-lost");
  RoundHere hung = round_at(1);
  hung.over({probe::Hung{probe::Phase::init, {0}}, lost});
  CHECK(hung.told().cause.empty());
  RoundHere works = round_at(1);
  works.over({probe::Works{}, lost});
  CHECK(works.told().cause.empty());
}
