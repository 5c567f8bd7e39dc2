// The stores at which ranks are to meet: the same for all, or not.
#include "rank_story.h"

using namespace safelaunch;

using namespace safelaunch::ranks;
using namespace std::chrono_literals;
using Told = RankStory;

TEST_CASE("ranks that all knock at stores with other ports are told apart at once",
          "[rank_machine]") {
  RankStory job;
  job.waits(0, Stage::rendezvous, "127.0.0.1:40345");
  CHECK(job.all<TellVerdict>().size() == 0);
  job.waits(1, Stage::rendezvous, "127.0.0.1:48829");
  REQUIRE(job.all<TellVerdict>().size() == 1);
  const Failure verdict = job.all<TellVerdict>().front().verdict;
  CHECK(verdict.kind == FailureKind::different_stores);
  CHECK(verdict.proof ==
        "the ranks were given different stores: rank 0 127.0.0.1:40345, rank 1 127.0.0.1:48829");
}

TEST_CASE("a rank that cannot get into another store than the others did is told apart from them",
          "[rank_machine]") {
  RankStory job;
  job.waits(0, Stage::rendezvous, "127.0.0.1:40345");
  job.reaches(0, Stage::rendezvous);
  job.waits(0, Stage::group, "gloo");
  const bool elsewhere = GENERATE(true, false);
  job.waits(1, Stage::rendezvous, elsewhere ? "127.0.0.2:48829" : "127.0.0.2:40345");
  job.pass(10min);
  REQUIRE(job.all<TellVerdict>().size() == 1);
  const FailureKind kind = job.all<TellVerdict>().front().verdict.kind;
  CHECK(kind == (elsewhere ? FailureKind::different_stores : FailureKind::hung));
}

TEST_CASE("the first ranks of two worlds below one launcher are no world with two stores",
          "[rank_machine]") {
  RankStory job({.stages = {.world_size = 4}, .hook = true});
  job.waits(0, Stage::rendezvous, "127.0.0.1:40345");
  job.waits(1, Stage::rendezvous, "127.0.0.1:48829");
  CHECK(job.all<TellVerdict>().empty());
}

TEST_CASE("one port under two names, a port that is not chosen yet, and a second try are no proof",
          "[rank_machine]") {
  RankStory names;
  names.waits(0, Stage::rendezvous, "localhost:29500");
  names.waits(1, Stage::rendezvous, "node0:29500");
  CHECK(names.all<TellVerdict>().size() == 0);
  RankStory chooses;
  chooses.waits(0, Stage::rendezvous, "node0:0");
  chooses.waits(1, Stage::rendezvous, "node0:29500");
  CHECK(chooses.all<TellVerdict>().size() == 0);
  RankStory again;
  again.waits(0, Stage::rendezvous, "node0:29500");
  again.says(0, RankRaised{Rank{0}, process_of(0), "DistNetworkError", "taken", "", true});
  again.waits(1, Stage::rendezvous, "node0:29500");
  again.waits(0, Stage::rendezvous, "node0:29501");
  CHECK(again.all<TellVerdict>().size() == 0);
}

TEST_CASE("the stores and the backend are those that the ranks name", "[rank_machine]") {
  Told job;
  job.starts(0);
  job.waits(0, Stage::rendezvous, "node0:29500");
  job.waits(0, Stage::group, "nccl");
  CHECK(job.seen().stores.at(Rank{0}) == "node0:29500");
  CHECK(job.seen().knocking.contains(Rank{0}));
  CHECK(job.seen().backends == std::set<std::string>{"nccl"});
  job.reaches(0, Stage::rendezvous);
  CHECK(job.seen().knocking.empty());
  CHECK(job.seen().stores.size() == 1);
}

TEST_CASE(
    "a store is elsewhere where this host has not its address, and unopened where nobody "
    "listens at the loopback",
    "[stores]") {
  // Port 1 is nobody's (RFC 1078's multiplexer).
  const StoresHere here = stores_here({{Rank{0}, "127.0.0.1:1"}, {Rank{1}, "192.0.2.1:29500"}},
                                      {{Rank{0}, "127.0.0.1:1"}}, host::KernelSockets());
  CHECK(here.elsewhere == std::set<std::string>{"192.0.2.1:29500"});
  CHECK(here.unopened == "127.0.0.1:1");
}
