#include "safelaunch/probe/node_round.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::probe;

namespace {

NodeRound ready(int round = 1, std::string id = "") {
  NodeRound told{round};
  told.ready = true;
  told.id = std::move(id);
  return told;
}

NodeRound ended(Verdict verdict) {
  NodeRound told{1};
  told.verdict = std::move(verdict);
  return told;
}

NodeRound trouble(Trouble which) {
  NodeRound told{1};
  told.trouble = which;
  return told;
}

/// Two nodes with two ranks each, in one group.
RoundDesk two_nodes() {
  return {1, {{0, 1}}, {2, 2}};
}

const Verdict kWorks = Works{3, 1, 10};

}  // namespace

TEST_CASE("a round's word is read as it was written") {
  RoundWord word{7, {{0, 2}, {1, 3}}, {{1, "c0ffee"}}, {0}};
  CHECK(round_word_from(to_text(word)) == word);
}

TEST_CASE("what a node tells of a round is read as it was written") {
  NodeRound told{3};
  told.ready = told.measured = told.cut_short = true;
  told.id = "00ff";
  told.trouble = Trouble::hung;
  told.cause = "shm-small";
  for (const Verdict& verdict :
       {Verdict{Works{1.5, 2.5, 10.25}}, Verdict{Works{1.5, 2.5, std::nullopt}},
        Verdict{Failed{{{3, Phase::init, "it broke"}}}}, Verdict{Hung{Phase::bandwidth, {0, 4}}},
        Verdict{Untold{"stopped"}}}) {
    told.verdict = verdict;
    CHECK(node_round_from(to_text(told)) == told);
  }
  told.verdict.reset();
  CHECK(node_round_from(to_text(told)) == told);
}

TEST_CASE("a word of a round that contradicts itself is none") {
  for (const char* text :
       {"", "{", "[]", "7", R"({"groups":[[0,1]]})", R"({"round":0,"groups":[[0,1]]})",
        R"({"round":-1,"groups":[[0]]})", R"({"round":1,"groups":[[0,0]]})",
        R"({"round":1,"groups":[[0],[0]]})", R"({"round":1,"groups":[[]]})",
        R"({"round":1,"groups":[[-1]]})", R"({"round":1,"groups":[[1e9]]})",
        R"({"round":1,"groups":[["0"]]})", R"({"round":1,"groups":[[0]],"over":[1]})",
        R"({"round":1,"groups":[[0]],"over":[-1]})",
        R"({"round":1,"groups":[[0]],"ids":[{"group":1,"id":"00"}]})",
        R"({"round":1,"groups":[[0]],"ids":[{"group":0,"id":"end\nabort"}]})",
        R"({"round":1,"groups":[[0]],"ids":[{"group":0,"id":""}]})"})
    CHECK_FALSE(round_word_from(text));
  const std::string long_id(257, 'a');
  CHECK_FALSE(round_word_from(R"({"round":1,"groups":[[0]],"ids":[{"group":0,"id":")" + long_id +
                              R"("}]})"));
}

TEST_CASE("what a hostile node tells of a round is none") {
  for (const char* text :
       {"", "null", "[1]", R"({"ready":true})", R"({"round":"1"})", R"({"round":1,"id":"x y"})",
        R"({"round":1,"verdict":"splendid"})", R"({"round":1,"verdict":"works"})",
        R"({"round":1,"verdict":"works","init_ms":-1,"first_ms":1})",
        R"({"round":1,"verdict":"hung","phase":"init"})",
        R"({"round":1,"verdict":"hung","phase":"init","ranks":[-1]})",
        R"({"round":1,"verdict":"hung","phase":"lunch","ranks":[1]})",
        R"({"round":1,"verdict":"failed","failures":[]})",
        R"({"round":1,"verdict":"failed","failures":[{"rank":0,"phase":"lunch"}]})",
        R"({"round":1,"verdict":"failed","failures":[{"rank":99999999999,"phase":"init"}]})"})
    CHECK_FALSE(node_round_from(text));
}

TEST_CASE("ranks are counted over the nodes of a group, and who is in none sits out") {
  const RoundWord word{1, {{2, 0}, {3}}};
  const std::vector<int> ranks{4, 8, 2, 8};
  const auto second = place_in(word, 0, ranks);
  REQUIRE(second);
  CHECK(second->group == 0);
  CHECK(second->part.first == 2);
  CHECK(second->part.all == 6);
  CHECK_FALSE(place_in(word, 1, ranks));
  CHECK_FALSE(place_in(word, 3, ranks)->part.has_others());
}

TEST_CASE("the id is handed out when all nodes of the group are ready") {
  RoundDesk desk = two_nodes();
  CHECK_FALSE(desk.take(0, ready(1, "c0ffee")));
  CHECK(desk.word().ids.empty());
  CHECK(desk.take(1, ready()));
  CHECK(desk.word().ids == std::map<int, std::string>{{0, "c0ffee"}});
  CHECK_FALSE(desk.take(1, ready()));
}

TEST_CASE("news of an earlier round, or of a node that sits out, change nothing") {
  RoundDesk desk(2, {{0, 1}}, {1, 1, 1});
  CHECK_FALSE(desk.take(0, ready(1, "c0ffee")));
  CHECK_FALSE(desk.take(2, ready(2)));
  CHECK_FALSE(desk.take(1, ready(2)));
  CHECK(desk.word().ids.empty());
}

TEST_CASE("a group is over when all have measured, not before") {
  RoundDesk desk = two_nodes();
  NodeRound measured = ready(1, "c0ffee");
  measured.measured = true;
  CHECK_FALSE(desk.take(0, measured));
  CHECK(desk.take(1, measured));
  CHECK(desk.word().over == std::vector<int>{0});
}

TEST_CASE("a group is over as soon as one node has trouble, and other groups go on") {
  RoundDesk desk(1, {{0, 1}, {2, 3}}, {1, 1, 1, 1});
  CHECK(desk.take(3, trouble(Trouble::failed)));
  CHECK(desk.word().over == std::vector<int>{1});
}

TEST_CASE("the slowest node's bandwidth is the group's") {
  RoundDesk desk = two_nodes();
  (void)desk.take(0, ended(Works{3, 2, 10}));
  (void)desk.take(1, ended(Works{2, 4, 8}));
  CHECK(desk.results().front().verdict == Verdict{Works{2, 2, 8}});
}

TEST_CASE(
    "of a hang those who are furthest behind are named, though another's deadline came first") {
  RoundDesk desk = two_nodes();
  (void)desk.take(0, trouble(Trouble::hung));
  NodeRound behind = ended(Hung{Phase::init, {2, 3}});
  behind.cut_short = true;
  (void)desk.take(1, behind);
  NodeRound first = ended(Hung{Phase::first_all_reduce, {0, 1}});
  first.trouble = Trouble::hung;
  (void)desk.take(0, first);
  const GroupResult result = desk.results().front();
  CHECK(result.verdict == Verdict{Hung{Phase::init, {2, 3}}});
  CHECK(result.stopped == std::vector<int>{1});
  CHECK(result.ill.empty());
}

TEST_CASE("ranks that fail because a hung node was aborted do not make it a failure") {
  RoundDesk desk = two_nodes();
  (void)desk.take(0, trouble(Trouble::hung));
  NodeRound follower = ended(Failed{{{2, Phase::first_all_reduce, "connection closed"}}});
  follower.cause = "peer-lost";
  (void)desk.take(1, follower);
  NodeRound hung = ended(Hung{Phase::first_all_reduce, {0, 1}});
  hung.trouble = Trouble::hung;
  (void)desk.take(0, hung);
  CHECK(desk.results().front().verdict == Verdict{Hung{Phase::first_all_reduce, {0, 1, 2}}});
  CHECK(desk.results().front().cause.empty());
}

TEST_CASE("the node that failed first is named") {
  RoundDesk desk = two_nodes();
  (void)desk.take(1, trouble(Trouble::failed));
  (void)desk.take(0, ended(Failed{{{0, Phase::init, "peer lost"}}}));
  NodeRound first = ended(Failed{{{3, Phase::init, "out of memory"}}});
  first.trouble = Trouble::failed;
  first.cause = "gpu-oom";
  (void)desk.take(1, first);
  const GroupResult result = desk.results().front();
  CHECK(std::get<Failed>(result.verdict).failures.front().words == "out of memory");
  CHECK(result.cause == "gpu-oom");
  CHECK(result.stopped == std::vector<int>{1});
}

TEST_CASE("a node whose driver hangs is ill, and one that waited for it is not") {
  RoundDesk desk = two_nodes();
  (void)desk.take(1, ended(Hung{Phase::driver, {2}}));
  NodeRound waited = ended(Hung{Phase::unique_id, {0, 1}});
  waited.cut_short = true;
  (void)desk.take(0, waited);
  const GroupResult result = desk.results().front();
  CHECK(result.ill == std::vector<int>{1});
  CHECK(result.verdict == Verdict{Hung{Phase::driver, {2}}});
}

TEST_CASE("a node that tells nothing leaves its group untold") {
  RoundDesk desk = two_nodes();
  (void)desk.take(0, ended(kWorks));
  CHECK(std::holds_alternative<Untold>(desk.results().front().verdict));
}
