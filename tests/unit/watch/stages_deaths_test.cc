// Ranks that end, or raise, before the job trains.
#include <csignal>

#include "catch.h"
#include "stages_story.h"

using namespace safelaunch;

using namespace safelaunch::watch;
using namespace safelaunch::testing;
using namespace std::chrono_literals;
using Ranks = std::vector<int>;

TEST_CASE("scene d: a rank that dies before init ends the attempt at once, with its status",
          "[stages]") {
  const auto [status, words] = GENERATE(table<ExitStatus, std::string>(
      {{Exited{3}, "rank 3 ended before rendezvous: exit status 3"},
       {Signaled{9, false}, "rank 3 ended before rendezvous: killed by SIGKILL"}}));
  Story story;
  everybody_imports(story, 4);
  calls_init(story, 0, 4);

  story.exited(3, status);

  REQUIRE(story.verdict());
  CHECK(story.verdict()->kind == FailureKind::rank_died);
  CHECK(story.suspects() == Ranks{3});
  CHECK(story.waiting() == Ranks{0});
  CHECK(story.words() == words);
  CHECK(story.verdict()->missing.front().status == status);
}

// torchrun's worker has exited, torchrun is late to see it, and the others are quick.
TEST_CASE("a launcher may say how a rank ended before the others are said to wait in vain",
          "[stages]") {
  Story story;
  everybody_imports(story, 3);
  calls_init(story, 0, 3);
  story.exited(2, std::nullopt);
  story.pass(2s);
  CHECK_FALSE(story.verdict());
  story.pass(1s);
  REQUIRE(story.verdict());
  CHECK(story.suspects() == Ranks{2});
}

TEST_CASE("ranks that die after the first one are followers", "[stages]") {
  Story story;
  everybody_imports(story, 4);

  story.exited(3, Exited{3});
  story.exited(0, Exited{1});

  CHECK(story.suspects() == Ranks{3});
}

TEST_CASE("scene d: a launcher that restarts its ranks is left alone", "[stages]") {
  Story story({.dead_rank = watch::DeadRank::is_restarted});
  everybody_imports(story, 2);
  calls_init(story, 0, 2);
  story.exited(1, Exited{3});
  story.exited(0, Signaled{15, false});
  story.pass(1min);
  REQUIRE_FALSE(story.verdict());

  for (int rank = 0; rank < 2; ++rank) {
    const ProcessId again{2000 + rank, 9};
    story.tell(RankStarted{Rank{rank}, again, 2, Source::hook});
    story.tell(StageEntered{Rank{rank}, again, Stage::group, {}, 2, Source::hook});
    story.tell(StageReached{Rank{rank}, again, Stage::collective, Source::hook});
  }

  CHECK_FALSE(story.verdict());
  CHECK(story.trainings() == 1);
}

TEST_CASE("under an unknown script a failed rank counts once another rank waits for it",
          "[stages]") {
  Story story({.dead_rank = watch::DeadRank::hangs_the_others});
  everybody_imports(story, 2);
  story.exited(1, Exited{3});
  CHECK_FALSE(story.verdict());

  story.entered(0, Stage::group, 2);

  REQUIRE(story.verdict());
  CHECK(story.verdict()->kind == FailureKind::rank_died);
  CHECK(story.suspects() == Ranks{1});
}

namespace {

/// A script that has ten seconds to react to a rank that failed; rank 1 did, and rank 0 waits.
Story script_with_a_failed_rank() {
  StagesConfig config{.dead_rank = DeadRank::hangs_the_others};
  config.limits.reaction = 10s;
  Story story(config);
  everybody_imports(story, 2);
  story.entered(0, Stage::group, 2);
  story.does(0, Activity::idling);
  story.exited(1, Exited{1});
  return story;
}

}  // namespace

TEST_CASE("a script has some seconds to react to a rank that failed", "[stages]") {
  Story story = script_with_a_failed_rank();
  story.pass(9s);
  CHECK_FALSE(story.verdict());
  story.pass(2s);
  REQUIRE(story.verdict());
  CHECK(story.suspects() == Ranks{1});
}

// for backend in "nccl", "gloo": try: mp.spawn(...); break; except Exception: pass
TEST_CASE("a script that starts its ranks anew has done with those that failed", "[stages]") {
  Story story = script_with_a_failed_rank();
  story.exited(0, Signaled{SIGTERM});
  const ProcessId next{2000, 9};
  story.tell(RankStarted{Rank{0}, next, 2, Source::hook});
  story.tell(StageEntered{Rank{0}, next, Stage::group, "gloo", 2, Source::hook});
  story.pass(1min);  // the other one imports torch
  CHECK_FALSE(story.verdict());
}

TEST_CASE("a rank that ends with status 0 before init hangs the others, said at once", "[stages]") {
  Story story = rank_2_is_missing();

  story.exited(2, Exited{0});

  REQUIRE(story.verdict());
  CHECK(story.verdict()->kind == FailureKind::hung);
  CHECK(story.suspects() == Ranks{2});
  CHECK(story.words() ==
        "hung in group: rank 2 is missing (dead: exit status 0) while ranks 0 1 3 have waited for "
        "0s");
}

TEST_CASE("scene j: a user's exception is kept with the rank's end", "[stages]") {
  Story story;
  everybody_imports(story, 2);
  story.raised(1, "ValueError", "no such dataset");
  CHECK_FALSE(story.verdict());

  story.exited(1, Exited{1});

  REQUIRE(story.verdict());
  CHECK(story.verdict()->kind == FailureKind::raised);
  CHECK(describe(*story.verdict()).ends_with(", ValueError: no such dataset"));
  CHECK(story.verdict()->raised.front().traceback == "Traceback");
}

TEST_CASE("a rank that raised and cannot end lets the others wait, and is named", "[stages]") {
  Story story;
  everybody_imports(story, 2);
  for (const int rank : {0, 1}) calls_init(story, rank, 2);
  story.raised(1, "RuntimeError", "CUDA error");
  story.does(1, Activity::quiet);

  story.pass(1h);

  CHECK(story.suspects() == Ranks{1});
  REQUIRE(story.verdict()->raised.size() == 1);
  CHECK(story.verdict()->raised.front().message == "CUDA error");
}

TEST_CASE("a rank that ends with status 0 right after its collective has come through",
          "[stages]") {
  Story story = four_with_a_group();
  for (int rank = 0; rank < 4; ++rank) story.entered(rank, Stage::collective, 4, "allreduce_");

  story.exited(0, Exited{0});  // os._exit: its coll.done never came
  CHECK_FALSE(story.verdict());
  for (const int rank : {1, 2, 3}) story.reached(rank, Stage::collective);

  CHECK(story.trainings() == 1);
}

TEST_CASE("a rank that is done while others reduce in a group of their own is waited for",
          "[stages]") {
  Story story = four_with_a_group();
  story.exited(3, Exited{0});
  story.entered(0, Stage::collective, 4, "allreduce_");
  story.does(1, Activity::working);
  story.does(2, Activity::idling);

  story.pass(60s);
  CHECK_FALSE(story.verdict());
  story.reached(0, Stage::collective);
  story.pass(1h);

  CHECK_FALSE(story.verdict());
}

TEST_CASE("what a wrapper's process did before it ended in order, the rank has done", "[stages]") {
  Story story;
  const ProcessId wrapper{500, 1};
  everybody_imports(story, 1);
  story.tell(RankStarted{Rank{1}, wrapper, 2, Source::proc});
  story.started(1, 2);
  for (int rank = 0; rank < 2; ++rank) {
    calls_init(story, rank, 2);
    story.reached(rank, Stage::group);
    story.entered(rank, Stage::collective, 2, "broadcast_");
  }

  story.exited(1, Exited{0});
  CHECK_FALSE(story.verdict());
  story.reached(0, Stage::collective);

  CHECK(story.trainings() == 1);
}

TEST_CASE("ranks that reduce without one another may have trained", "[stages]") {
  Story story = four_with_a_group();
  CHECK_FALSE(story.stages().may_have_trained());
  for (const int rank : {0, 1}) story.entered(rank, Stage::collective, 4, "allreduce_");
  story.reached(0, Stage::collective);
  CHECK_FALSE(story.stages().may_have_trained());

  story.reached(1, Stage::collective);

  CHECK(story.stages().may_have_trained());
  CHECK_FALSE(story.stages().training());
}

TEST_CASE("one node's ranks may have trained with those of another", "[stages]") {
  Story story({.world_size = 4, .expected_here = {Rank{0}, Rank{1}}});
  for (const int rank : {0, 1}) {
    story.started(rank, 4);
    calls_init(story, rank, 4);
    story.entered(rank, Stage::collective, 4, "allreduce_");
    story.reached(rank, Stage::collective);
  }

  CHECK(story.stages().may_have_trained());
}

TEST_CASE("a job whose first collective failed on a rank has not trained", "[stages]") {
  Story story = four_with_a_group();
  for (int rank = 0; rank < 4; ++rank) story.entered(rank, Stage::collective, 4, "broadcast_");
  story.reached(0, Stage::collective);  // the root of a broadcast need not wait for the others

  for (const int rank : {1, 2, 3}) story.raised(rank, "DistBackendError", "NCCL error");

  CHECK_FALSE(story.stages().may_have_trained());
}

TEST_CASE(
    "two ranks that nobody sees come through together, and one ends before the other is looked at",
    "[stages]") {
  Story story({.limits = {.quiet = 5s}});
  for (const int rank : {0, 1}) story.started(rank, 2, Source::proc);
  story.tell(StageEntered{Rank{0}, Story::process(0), Stage::group, {}, 2, Source::proc});
  story.does(0, Activity::idling);
  story.does(1, Activity::working);
  story.pass(20s);

  story.exited(1, Exited{0});
  CHECK_FALSE(story.verdict());
  story.pass(4s);
  CHECK_FALSE(story.verdict());
  story.pass(2s);

  CHECK(story.suspects() == Ranks{1});
}

TEST_CASE("a rank that dies in its first collective is not said to have died before it",
          "[stages]") {
  Story story;
  everybody_imports(story, 2);
  calls_init(story, 0, 2);
  calls_init(story, 1, 2);
  for (const int rank : {0, 1}) {
    story.reached(rank, Stage::group);
    story.entered(rank, Stage::collective, 2, "allreduce_");
  }
  story.reached(0, Stage::collective);
  story.exited(1, Signaled{9, false});
  REQUIRE(story.verdict());
  CHECK(story.verdict()->stage == Stage::collective);
  CHECK(story.verdict()->missing.front().inside);
}
