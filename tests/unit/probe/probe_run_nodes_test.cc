// A probe over several nodes, as one of them runs its part.
#include "probe_scene.h"

using namespace safelaunch;

using namespace safelaunch::probe;
using namespace std::chrono_literals;

namespace {

/// The second of two nodes, with ranks 2 and 3; or the first, with ranks 0 and 1.
struct NodeScene : Scene {
  explicit NodeScene(int first) : Scene(2) { run = Run(2, {}, kStart, Part{first, 4}); }
  void are_ready() {
    rank_done(0, Phase::library);
    rank_done(1, Phase::library);
  }
};

}  // namespace

TEST_CASE(
    "the ranks of a node are ready when they have loaded NCCL, and then wait for as long as "
    "other nodes take") {
  NodeScene second(2);
  second.rank_done(0, Phase::library);
  CHECK(second.news().empty());
  second.rank_done(1, Phase::library);
  CHECK(second.news() == Actions{TellReady{""}});
  CHECK_FALSE(second.run.deadline());
  second.happens(IdCame{"c0ffee"});
  CHECK(second.news() == Actions{HandOutId{"c0ffee"}});
  CHECK(second.run.deadline() == kStart + Limits{}[Phase::unique_id]);
}

TEST_CASE("the node with rank 0 is ready when the id is made") {
  NodeScene first(0);
  first.rank_done(0, Phase::library);
  first.rank_done(1, Phase::library);
  CHECK(first.news().empty());
  first.happens(RankReported{0, done(Phase::unique_id)});
  CHECK(first.news() == Actions{TellReady{"c0ffee"}});
  first.happens(IdCame{"c0ffee"});
  CHECK(first.news() == Actions{HandOutId{"c0ffee"}});
}

TEST_CASE("a node that has measured waits for the others, and its bandwidth is that of all ranks") {
  NodeScene second(2);
  second.are_ready();
  second.happens(IdCame{"c0ffee"});
  (void)second.news();
  for (int rank = 0; rank < 2; ++rank)
    for (int i = static_cast<int>(Phase::unique_id); i < kProbePhaseCount; ++i)
      second.happens(RankReported{rank, done(static_cast<Phase>(i))});
  CHECK(second.news() == Actions{TellMeasured{}});
  CHECK_FALSE(second.run.deadline());
  second.happens(OthersOver{});
  CHECK(second.news() == Actions{LetRanksEnd{}});
  CHECK(std::get<Works>(second.run.verdict()).bus_gb_per_s == bus_bandwidth(10, 4));
  CHECK_FALSE(second.run.was_cut_short());
}

TEST_CASE("a node whose others have failed tells how far it was") {
  NodeScene second(2);
  second.are_ready();
  second.happens(IdCame{"c0ffee"});
  second.happens(RankReported{0, done(Phase::unique_id)});
  (void)second.news();
  second.happens(OthersOver{});
  second.deadline_comes();
  CHECK(second.news() == Actions{AbortRanks{}});
  CHECK(second.run.was_cut_short());
  CHECK(second.run.verdict() == Verdict{Hung{Phase::unique_id, {1}}});
}

TEST_CASE("a hang is told to other nodes before the ranks are aborted, and a failure at once") {
  NodeScene second(2);
  second.are_ready();
  second.happens(IdCame{"c0ffee"});
  (void)second.news();
  second.deadline_comes();
  CHECK(second.news() == Actions{TellTrouble{Trouble::hung}, AbortRanks{}});

  NodeScene other(2);
  other.happens(RankReported{1, told(Phase::driver, PhaseResult::failed, "no")});
  CHECK(other.news() == Actions{TellTrouble{Trouble::failed}});
}

TEST_CASE("a rank that dies while its node waits for others is a failure") {
  NodeScene second(2);
  second.are_ready();
  (void)second.news();
  second.happens(RankEnded{1, "killed by SIGKILL"});
  CHECK(second.news() == Actions{TellTrouble{Trouble::failed}});
  CHECK(std::holds_alternative<Failed>(second.run.verdict()));
}

TEST_CASE("an id that comes before this node is ready, or again, is not handed out") {
  NodeScene second(2);
  second.happens(IdCame{"c0ffee"});
  CHECK(second.news().empty());
  second.are_ready();
  (void)second.news();
  second.happens(IdCame{"c0ffee"});
  second.happens(IdCame{"bad"});
  CHECK(second.news() == Actions{HandOutId{"c0ffee"}});
}

TEST_CASE("an id that comes when this node's ranks have failed is not handed out") {
  NodeScene second(2);
  second.are_ready();
  second.happens(RankEnded{0, "killed by SIGKILL"});
  (void)second.news();
  second.happens(IdCame{"c0ffee"});
  CHECK(second.news().empty());
}

TEST_CASE("on several nodes too rank 0 must make an id") {
  NodeScene first(0);
  first.rank_done(1, Phase::library);
  first.rank_done(0, Phase::library);
  PhaseReport report = done(Phase::unique_id);
  report.id = "no id";
  first.happens(RankReported{0, report});
  CHECK(first.news() == Actions{TellTrouble{Trouble::failed}});
}

TEST_CASE("the first rank of a later node is not rank 0, and needs no id") {
  NodeScene second(2);
  second.are_ready();
  second.happens(IdCame{"c0ffee"});
  (void)second.news();
  PhaseReport report = done(Phase::unique_id);
  report.id.clear();
  second.happens(RankReported{0, report});
  CHECK(second.news().empty());
  CHECK(second.run.deadline());
}

TEST_CASE("others that are over before this node has begun cut it short in its first phase") {
  NodeScene second(2);
  second.happens(OthersOver{});
  CHECK(second.run.was_cut_short());
  CHECK(second.run.verdict() == Verdict{Hung{Phase::driver, {0, 1}}});
}

TEST_CASE("others that are over after a failure of this node do not cut it short") {
  NodeScene second(2);
  second.happens(RankReported{1, told(Phase::driver, PhaseResult::failed, "no")});
  second.happens(OthersOver{});
  CHECK_FALSE(second.run.was_cut_short());
  CHECK(second.run.verdict() == Verdict{Failed{{{1, Phase::driver, "no"}}}});
}

TEST_CASE("ranks that fail while they are cut short are told as failures") {
  NodeScene second(2);
  second.are_ready();
  second.happens(IdCame{"c0ffee"});
  second.happens(OthersOver{});
  second.happens(RankReported{0, told(Phase::unique_id, PhaseResult::failed, "remote error")});
  CHECK(second.run.verdict() == Verdict{Failed{{{0, Phase::unique_id, "remote error"}}}});
}
