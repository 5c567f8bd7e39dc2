// Ranks that contradict each other, and processes that only seem to.
#include "catch.h"
#include "stages_story.h"

using namespace safelaunch;

using namespace safelaunch::watch;
using namespace safelaunch::testing;
using namespace std::chrono_literals;

TEST_CASE("scene j: WORLD_SIZEs that differ at one store are named at once", "[stages]") {
  Story story;
  calls_init(story, 0, 2);
  CHECK_FALSE(story.verdict());

  story.entered(1, Stage::rendezvous, 3, "127.0.0.1:29500");

  REQUIRE(story.verdict());
  CHECK(story.verdict()->kind == FailureKind::world_size_mismatch);
  CHECK(story.words() == "WORLD_SIZE differs between the ranks: rank 0 says 2, rank 1 says 3");
}

TEST_CASE("a second job with a store and a world of its own is no contradiction", "[stages]") {
  Story story;
  calls_init(story, 0, 4);

  story.entered(1, Stage::rendezvous, 2, "127.0.0.1:31000");

  CHECK_FALSE(story.verdict());
}

TEST_CASE("scene j: a rank given twice is named at once, in whatever order the two arrive",
          "[stages]") {
  const bool twin_first = GENERATE(false, true);
  const ProcessId twin{2001, 9};
  Story story;
  const auto init = [&](ProcessId id) {
    story.tell(StageEntered{Rank{1}, id, Stage::group, {}, 3, Source::hook});
  };
  const auto meet = [&](ProcessId id) {
    story.tell(StageEntered{Rank{1}, id, Stage::rendezvous, "127.0.0.1:29500", 3, Source::hook});
  };
  init(Story::process(1));
  init(twin);

  meet(twin_first ? twin : Story::process(1));
  CHECK_FALSE(story.verdict());
  meet(twin_first ? Story::process(1) : twin);

  REQUIRE(story.verdict());
  CHECK(story.verdict()->kind == FailureKind::duplicate_rank);
  CHECK(story.words() ==
        "two processes have rank 1: pid 1001 and pid 2001 both came to 127.0.0.1:29500 with it");
}

TEST_CASE("a DataLoader worker that inherits RANK is not a second rank", "[stages]") {
  Story story = four_with_a_group();

  story.tell(RankStarted{Rank{1}, {5000, 1}, 4, Source::hook});
  story.tell(StageReached{Rank{1}, {5000, 1}, Stage::imported, Source::hook});
  story.tell(RankExited{Rank{1}, {5000, 1}, Signaled{9, false}});

  CHECK_FALSE(story.verdict());
  CHECK(story.stages().ranks().at(Rank{1}).process() == Story::process(1));
}

TEST_CASE("a self-check that runs a group of one under an inherited RANK does no harm",
          "[stages]") {
  Story story;
  everybody_imports(story, 2);
  calls_init(story, 1, 2);
  story.does(0, Activity::working);
  const ProcessId check{5000, 1};
  story.tell(StageEntered{Rank{0}, check, Stage::rendezvous, "127.0.0.1:4000", 1, Source::hook});
  story.tell(StageReached{Rank{0}, check, Stage::collective, Source::hook});
  story.tell(RankExited{Rank{0}, check, Exited{0}});
  story.pass(1min);
  REQUIRE_FALSE(story.verdict());
  CHECK(story.stages().world_size() == 2);

  calls_init(story, 0, 2);
  for (const int rank : {0, 1}) story.reached(rank, Stage::collective);

  CHECK(story.trainings() == 1);
}

TEST_CASE("what a wrapper starts is the rank, and the wrapper's own end is the rank's end",
          "[stages]") {
  Story story;
  for (int rank = 0; rank < 2; ++rank) story.started(rank, 2, Source::launch);
  const ProcessId python{5000, 1};
  story.tell(RankStarted{Rank{1}, python, 2, Source::hook});
  CHECK(story.stages().ranks().at(Rank{1}).process() == python);

  story.tell(RankExited{Rank{1}, python, Exited{3}});
  CHECK_FALSE(story.verdict());
  story.exited(1, Exited{3});

  CHECK(story.verdict()->kind == FailureKind::rank_died);
}

TEST_CASE("a contradiction that NCCL tells after the verdict changes nothing", "[stages]") {
  Story story = rank_2_is_missing();
  story.exited(2, Exited{3});
  REQUIRE(story.verdict());
  watch::Stages stages = story.stages();

  CHECK(stages.contradict(FailureKind::duplicate_rank, "rank 1 twice", TimePoint{} + 200h).empty());

  CHECK(stages.verdict()->kind == FailureKind::rank_died);
}
