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

TEST_CASE("a node whose loss of a hung one is told before that hangs by itself is no failure") {
  RoundDesk desk = two_nodes();
  NodeRound follower = ended(Failed{{{0, Phase::first_all_reduce, "connection closed"}}});
  follower.trouble = Trouble::failed;
  follower.cause = "peer-lost";
  (void)desk.take(0, follower);
  NodeRound hung = ended(Hung{Phase::first_all_reduce, {2, 3}});
  hung.trouble = Trouble::hung;
  (void)desk.take(1, hung);
  CHECK(desk.results().front().verdict == Verdict{Hung{Phase::first_all_reduce, {0, 2, 3}}});
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
  CHECK(result.ill == IllNodes{{1, "rank 2: no answer within the deadline"}});
  CHECK(result.verdict == Verdict{Hung{Phase::driver, {2}}});
}

TEST_CASE("a node that tells nothing leaves its group untold") {
  RoundDesk desk = two_nodes();
  (void)desk.take(0, ended(kWorks));
  CHECK(std::holds_alternative<Untold>(desk.results().front().verdict));
}

// ---- hostile and torn texts ---------------------------------------------------------------------

TEST_CASE("a text of a round that was cut anywhere is none") {
  RoundWord word{7, {{0, 2}, {1, 3}}, {{1, "c0ffee"}}, {0}};
  NodeRound told{3};
  told.verdict = Failed{{{3, Phase::init, "it broke"}}};
  const std::string of_word = to_text(word);
  for (std::size_t size = 0; size < of_word.size(); ++size)
    if (round_word_from(of_word.substr(0, size))) FAIL(of_word.substr(0, size));
  const std::string of_node = to_text(told);
  for (std::size_t size = 0; size < of_node.size(); ++size)
    if (node_round_from(of_node.substr(0, size))) FAIL(of_node.substr(0, size));
}

TEST_CASE("seats, ranks and rounds beyond any job are not believed") {
  CHECK(round_word_from(R"({"round":10000000,"groups":[[99999]]})"));
  CHECK_FALSE(round_word_from(R"({"round":10000001,"groups":[[0]]})"));
  CHECK_FALSE(round_word_from(R"({"round":1,"groups":[[100000]]})"));
  CHECK(node_round_from(R"({"round":1,"verdict":"hung","phase":"init","ranks":[9999999]})"));
  CHECK_FALSE(node_round_from(R"({"round":1,"verdict":"hung","phase":"init","ranks":[10000000]})"));
}

TEST_CASE("a word without groups is a word, and its ids and ends are of no group") {
  CHECK(round_word_from(R"({"round":1})")->groups.empty());
  CHECK(round_word_from(R"({"round":1,"groups":7})")->groups.empty());
  CHECK_FALSE(round_word_from(R"({"round":1,"over":[0]})"));
  CHECK_FALSE(round_word_from(R"({"round":1,"ids":[{"group":0,"id":"00"}]})"));
  CHECK_FALSE(round_word_from(R"({"round":1,"groups":[[0]],"ids":[7]})"));
}

TEST_CASE("of a node's news what is of another type counts as not told") {
  const auto told = node_round_from(
      R"({"round":1,"ready":1,"measured":"true","cut_short":null,"trouble":"lunch","cause":7})");
  REQUIRE(told);
  CHECK(*told == NodeRound{1});
}

TEST_CASE("a failure's words are cut, and more failures than a person reads are none") {
  const std::string words(5'000, 'x');
  const auto failures = [](int count) {
    Failed failed;
    for (int i = 0; i < count; ++i) failed.failures.push_back({i, Phase::init, "no"});
    return to_text(ended(failed));
  };
  const auto told = node_round_from(to_text(ended(Failed{{{0, Phase::init, words}}})));
  CHECK(std::get<Failed>(*told->verdict).failures.front().words.size() == 1'000);
  CHECK(std::get<Failed>(*node_round_from(failures(1'000))->verdict).failures.size() == 64);
  std::string many = R"({"round":1,"verdict":"failed","failures":[)";
  for (int i = 0; i < 65; ++i)
    many += std::string(i == 0 ? "" : ",") + R"({"rank":0,"phase":"init","words":""})";
  CHECK_FALSE(node_round_from(many + "]}"));
}

TEST_CASE("words of a sick driver that are no text are replaced") {
  const auto told = node_round_from(to_text(ended(Untold{"\xff no"})));
  REQUIRE(told);
  CHECK(told->verdict == Verdict{Untold{"\uFFFD no"}});
}

TEST_CASE("an amount that cannot be makes a verdict none, a bandwidth that cannot be is not told") {
  CHECK_FALSE(node_round_from(R"({"round":1,"verdict":"works","init_ms":"1","first_ms":1})"));
  CHECK_FALSE(node_round_from(R"({"round":1,"verdict":"works","init_ms":1})"));
  const auto told =
      node_round_from(R"({"round":1,"verdict":"works","init_ms":1,"first_ms":2,"gb_per_s":-4})");
  CHECK(told->verdict == Verdict{Works{1, 2, std::nullopt}});
}

TEST_CASE("an id is hexadecimal and at most as long as NCCL's") {
  NodeRound told{1};
  told.id = std::string(256, 'f');
  CHECK(node_round_from(to_text(told)) == told);
  for (const std::string& id : {std::string(257, 'f'), std::string("F0"), std::string("0x1")}) {
    told.id = id;
    CHECK_FALSE(node_round_from(to_text(told)));
  }
  RoundWord word{1, {{0, 1}}, {{0, std::string(256, '0')}}};
  CHECK(round_word_from(to_text(word)) == word);
}

// ---- the desk -----------------------------------------------------------------------------------

namespace {

NodeRound troubled(Verdict verdict, Trouble which, bool cut_short = false) {
  NodeRound told = ended(std::move(verdict));
  told.trouble = which;
  told.cut_short = cut_short;
  return told;
}

GroupResult result_of(RoundDesk& desk) {
  return desk.results().front();
}

}  // namespace

TEST_CASE("a round of which nobody has told anything is untold, group by group") {
  const RoundDesk desk(1, {{0, 1}, {2}}, {1, 1, 1});
  REQUIRE(desk.results().size() == 2);
  for (const GroupResult& result : desk.results()) {
    CHECK(result.verdict == Verdict{Untold{"it was not probed"}});
    CHECK(result.stopped.empty());
    CHECK(result.ill.empty());
  }
  CHECK(desk.results()[1].nodes == NodeGroup{2});
}

TEST_CASE("no id is handed out that rank 0's node has not made, nor to one node alone") {
  RoundDesk desk = two_nodes();
  CHECK_FALSE(desk.take(0, ready()));
  CHECK_FALSE(desk.take(1, ready(1, "c0ffee")));  // it has no rank 0
  CHECK(desk.word().ids.empty());
  RoundDesk alone(1, {{0}}, {2});
  CHECK_FALSE(alone.take(0, ready(1, "c0ffee")));
  CHECK(alone.word().ids.empty());
}

TEST_CASE("a group that is over stays so, and gets no id any more") {
  RoundDesk desk = two_nodes();
  CHECK(desk.take(0, trouble(Trouble::failed)));
  CHECK_FALSE(desk.take(1, trouble(Trouble::failed)));
  CHECK_FALSE(desk.take(0, ready(1, "c0ffee")));
  CHECK_FALSE(desk.take(1, ready()));
  CHECK(desk.word().over == std::vector<int>{0});
  CHECK(desk.word().ids.empty());
}

TEST_CASE("a node alone in its group has its own verdict, and ends nothing for others") {
  RoundDesk desk(1, {{0}, {1}}, {2, 2});
  CHECK_FALSE(desk.take(0, ended(kWorks)));
  CHECK_FALSE(desk.take(1, ended(Hung{Phase::driver, {1}})));
  CHECK(desk.word().over.empty());
  const auto results = desk.results();
  CHECK(results[0].verdict == kWorks);
  CHECK(results[1].verdict == Verdict{Hung{Phase::driver, {1}}});
}

TEST_CASE("nodes that are ill in one round have each their own reason") {
  RoundDesk desk = two_nodes();
  (void)desk.take(0, troubled(Failed{{{0, Phase::driver, "no CUDA driver"}}}, Trouble::failed));
  (void)desk.take(1, troubled(Failed{{{3, Phase::library, "cannot load NCCL"}}}, Trouble::failed));
  CHECK(result_of(desk).ill ==
        IllNodes{{0, "rank 0: no CUDA driver"}, {1, "rank 3: cannot load NCCL"}});
  CHECK(result_of(desk).stopped == std::vector<int>{0});  // it failed first
}

TEST_CASE("a node that fails where ranks meet is not ill") {
  for (const Phase phase :
       {Phase::init, Phase::first_all_reduce, Phase::checked, Phase::bandwidth}) {
    RoundDesk desk = two_nodes();
    (void)desk.take(0, troubled(Failed{{{0, phase, "no"}}}, Trouble::failed));
    CHECK(result_of(desk).ill.empty());
  }
  for (const Phase phase : {Phase::driver, Phase::context, Phase::library, Phase::unique_id}) {
    RoundDesk desk = two_nodes();
    (void)desk.take(0, troubled(Hung{phase, {0}}, Trouble::hung));
    CHECK(result_of(desk).ill == IllNodes{{0, "rank 0: no answer within the deadline"}});
  }
}

TEST_CASE("of a group that works on one node and fails on another the failure counts") {
  for (const bool works_first : {true, false}) {
    RoundDesk desk = two_nodes();
    const NodeRound failed = troubled(Failed{{{2, Phase::bandwidth, "no"}}}, Trouble::failed);
    if (works_first) (void)desk.take(0, ended(kWorks));
    (void)desk.take(1, failed);
    if (!works_first) (void)desk.take(0, ended(kWorks));
    CHECK(result_of(desk).verdict == Verdict{Failed{{{2, Phase::bandwidth, "no"}}}});
    CHECK(result_of(desk).stopped == std::vector<int>{1});
  }
}

TEST_CASE("a failure beats a hang that began after it, and a hang a failure that followed it") {
  const Verdict failed = Failed{{{0, Phase::init, "no"}}};
  const Verdict hung = Hung{Phase::init, {2, 3}};
  RoundDesk fails_first = two_nodes();
  (void)fails_first.take(0, troubled(failed, Trouble::failed));
  (void)fails_first.take(1, troubled(hung, Trouble::none, true));
  CHECK(result_of(fails_first).verdict == failed);
  RoundDesk hangs_first = two_nodes();
  (void)hangs_first.take(1, troubled(hung, Trouble::hung));
  (void)hangs_first.take(0, troubled(failed, Trouble::none));
  CHECK(result_of(hangs_first).verdict == Verdict{Hung{Phase::init, {0, 2, 3}}});
}

TEST_CASE("a group with a node that could not tell cannot be told, unless another failed") {
  RoundDesk desk = two_nodes();
  (void)desk.take(0, ended(Untold{"no room"}));
  (void)desk.take(1, troubled(Hung{Phase::init, {2}}, Trouble::none, true));
  CHECK(result_of(desk).verdict == Verdict{Untold{"no room"}});
  RoundDesk other = two_nodes();
  (void)other.take(0, ended(Untold{"no room"}));
  (void)other.take(1, troubled(Failed{{{2, Phase::init, "no"}}}, Trouble::failed));
  CHECK(std::holds_alternative<Failed>(result_of(other).verdict));
}

TEST_CASE("a hang of all is told with all ranks, and every node has stopped") {
  RoundDesk desk = two_nodes();
  (void)desk.take(1, troubled(Hung{Phase::init, {3, 2}}, Trouble::hung));
  (void)desk.take(0, troubled(Hung{Phase::init, {0, 1}}, Trouble::hung));
  CHECK(result_of(desk).verdict == Verdict{Hung{Phase::init, {0, 1, 2, 3}}});
  CHECK(result_of(desk).stopped == std::vector<int>{0, 1});
}

TEST_CASE("the cause of a hang is that of a node that hung by itself") {
  RoundDesk desk = two_nodes();
  NodeRound cut = troubled(Hung{Phase::init, {0, 1}}, Trouble::none, true);
  cut.cause = "peer-lost";
  NodeRound own = troubled(Hung{Phase::init, {2, 3}}, Trouble::hung);
  own.cause = "firewall";
  (void)desk.take(1, own);
  (void)desk.take(0, cut);
  CHECK(result_of(desk).cause == "firewall");
}

TEST_CASE("a bandwidth that one node has not told is that of the other") {
  RoundDesk desk = two_nodes();
  (void)desk.take(0, ended(Works{3, 2, std::nullopt}));
  (void)desk.take(1, ended(Works{2, 4, 8}));
  CHECK(result_of(desk).verdict == Verdict{Works{2, 2, 8}});
}

TEST_CASE("a node's last word counts, and its place in time is that of its first") {
  RoundDesk desk = two_nodes();
  (void)desk.take(0, trouble(Trouble::failed));
  (void)desk.take(1, ended(Failed{{{2, Phase::init, "follower"}}}));
  (void)desk.take(0, troubled(Failed{{{1, Phase::init, "cause"}}}, Trouble::failed));
  const auto failures = std::get<Failed>(result_of(desk).verdict).failures;
  CHECK(failures ==
        std::vector<RankFailure>{{1, Phase::init, "cause"}, {2, Phase::init, "follower"}});
}

TEST_CASE("ranks are found on their nodes though a node has none, or is not known") {
  RoundDesk desk(1, {{3, 1, 0}}, {2, 0});  // node 3 is beyond the list
  (void)desk.take(0, ended(Failed{{{1, Phase::init, "no"}}}));
  CHECK(result_of(desk).stopped == std::vector<int>{0});
  CHECK(place_in(desk.word(), 0, {2, 0})->part.first == 0);
  CHECK(place_in(desk.word(), 0, {2, 0})->part.all == 2);
}
