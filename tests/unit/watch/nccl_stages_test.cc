// The stages as NCCL's log and plugin tell them, beside the hook's words.
#include "catch.h"
#include "stages_story.h"

using namespace safelaunch;

using namespace safelaunch::watch;
using namespace std::chrono_literals;
using safelaunch::testing::calls_init;
using safelaunch::testing::everybody_imports;
using safelaunch::testing::Story;

namespace {

using Ranks = std::vector<int>;

void begins_nccl(Story& story, int rank, ProcessId process) {
  story.tell(RankStarted{Rank{rank}, process, std::nullopt, Source::nccl_log});
  story.tell(StageEntered{Rank{rank}, process, Stage::communicator, "NCCL", std::nullopt,
                          Source::nccl_log});
}

void begins_nccl(Story& story, int rank) {
  begins_nccl(story, rank, Story::process(rank));
}

/// All ranks have their group, and call their first all_reduce.
Story in_the_first_collective(int world) {
  Story story;
  everybody_imports(story, world);
  for (int rank = 0; rank < world; ++rank) {
    calls_init(story, rank, world);
    story.reached(rank, Stage::group);
    story.entered(rank, Stage::collective, world, "allreduce_");
  }
  return story;
}

void has_nccl(Story& story, int rank) {
  story.reached(rank, Stage::communicator, Source::nccl_log);
}

StagesConfig own_spawn(int world) {
  StagesConfig config{.world_size = world};
  for (int rank = 0; rank < world; ++rank) config.expected_here.push_back(Rank{rank});
  return config;
}

/// Workers in C, without a hook: only NCCL tells of them.
Story workers_without_hooks(int world) {
  Story story(own_spawn(world));
  for (int rank = 0; rank < world; ++rank) story.started(rank, world, Source::launch);
  return story;
}

}  // namespace

TEST_CASE("a rank that never comes to NCCL is missing there", "[stages][nccl]") {
  Story story = workers_without_hooks(3);
  for (const int rank : {0, 2}) begins_nccl(story, rank);
  story.does(1, Activity::idling, "sleeping in hrtimer_nanosleep");

  story.pass(1h);

  CHECK(story.verdict()->stage == Stage::communicator);
  CHECK(story.suspects() == Ranks{1});
  CHECK(story.waiting() == Ranks{0, 2});
  CHECK(story.at() == 180s);
}

TEST_CASE("of ranks that all stand in their collective the one that is not in NCCL is named",
          "[stages][nccl]") {
  Story story = in_the_first_collective(3);
  for (const int rank : {0, 2}) begins_nccl(story, rank);
  story.does(1, Activity::idling);

  story.pass(1h);

  CHECK(story.verdict()->stage == Stage::communicator);
  CHECK(story.suspects() == Ranks{1});
}

TEST_CASE("a first collective that ends takes its communicator with it", "[stages][nccl]") {
  Story story;
  everybody_imports(story, 2);
  for (const int rank : {0, 1}) {
    calls_init(story, rank, 2);
    story.entered(rank, Stage::collective, 2, "allreduce_");
    begins_nccl(story, rank);
  }
  for (const int rank : {0, 1}) story.reached(rank, Stage::collective);  // the log is behind

  story.pass(5h);

  CHECK_FALSE(story.verdict());
  CHECK(story.trainings() == 1);
}

TEST_CASE("a communicator that is complete is no collective: a hang in it is one",
          "[stages][nccl]") {
  Story story = in_the_first_collective(2);
  for (const int rank : {0, 1}) {
    begins_nccl(story, rank);
    has_nccl(story, rank);
  }

  story.pass(1h);

  CHECK(story.verdict()->stage == Stage::collective);
  CHECK(story.suspects().empty());
}

TEST_CASE("ranks that contradict each other in NCCL are a verdict at once", "[stages][nccl]") {
  Stages stages(own_spawn(3));
  const auto actions =
      stages.contradict(FailureKind::duplicate_rank, "rank 1 of 3 came to NCCL twice",
                        TimePoint(std::chrono::hours(1)));

  REQUIRE(stages.verdict());
  CHECK(stages.verdict()->certainty == Certainty::confirmed);
  CHECK(stages.verdict()->stage == Stage::communicator);
  CHECK(describe(*stages.verdict()) == "rank 1 of 3 came to NCCL twice");
  CHECK_FALSE(actions.empty());
  CHECK_FALSE(stages.next_deadline());
}

TEST_CASE("under a launcher that restarts ranks the old ones contradict nobody", "[stages][nccl]") {
  StagesConfig config = own_spawn(3);
  config.dead_rank = DeadRank::is_restarted;
  Stages stages(config);
  (void)stages.contradict(FailureKind::duplicate_rank, "rank 1 of 3 came to NCCL twice",
                          TimePoint(std::chrono::hours(1)));
  CHECK_FALSE(stages.verdict());
}

TEST_CASE("ranks whose collectives nobody sees train some seconds after their communicator",
          "[stages][nccl]") {
  Story story = workers_without_hooks(2);
  for (const int rank : {0, 1}) {
    begins_nccl(story, rank);
    has_nccl(story, rank);
  }

  story.pass(9s);
  CHECK(story.trainings() == 0);
  CHECK(story.looks() == 0);  // nothing is sampled meanwhile
  story.pass(2s);

  CHECK(story.trainings() == 1);
  CHECK_FALSE(story.stages().next_deadline());
}

TEST_CASE("a rank that dies right behind its communicator did not train", "[stages][nccl]") {
  Story story = workers_without_hooks(2);
  for (const int rank : {0, 1}) {
    begins_nccl(story, rank);
    has_nccl(story, rank);
  }

  story.pass(2s);
  story.exited(0, Exited{3});
  story.pass(1h);

  REQUIRE(story.verdict());
  CHECK(story.verdict()->stage == Stage::collective);
  CHECK(story.trainings() == 0);
}

TEST_CASE("a rank that dies while it waits in NCCL has failed there", "[stages][nccl]") {
  Story story = workers_without_hooks(2);
  for (const int rank : {0, 1}) begins_nccl(story, rank);
  story.exited(1, Exited{3});
  CHECK(story.words() == "rank 1 ended before communicator: exit status 3");
}

TEST_CASE("where the plugin tells of collectives their end begins the training", "[stages][nccl]") {
  Story story = workers_without_hooks(2);
  for (const int rank : {0, 1}) {
    begins_nccl(story, rank);
    has_nccl(story, rank);
    story.tell(StageEntered{Rank{rank}, Story::process(rank), Stage::collective, "AllReduce",
                            std::nullopt, Source::plugin});
  }
  story.pass(60s);
  CHECK(story.trainings() == 0);

  story.reached(0, Stage::collective, Source::plugin);
  story.reached(1, Stage::collective, Source::plugin);

  CHECK(story.trainings() == 1);
  CHECK_FALSE(story.verdict());
}

TEST_CASE("where the plugin sees calls alone the first one is waited for", "[stages][nccl]") {
  Story story = workers_without_hooks(2);
  for (const int rank : {0, 1}) {
    story.started(rank, 2, Source::plugin);
    begins_nccl(story, rank);
    has_nccl(story, rank);
  }
  story.pass(60s);
  CHECK(story.trainings() == 0);

  for (const int rank : {0, 1}) story.reached(rank, Stage::communicator, Source::plugin);
  story.pass(11s);

  CHECK(story.trainings() == 1);
}

TEST_CASE("a job that sends and receives only trains all the same", "[stages][nccl]") {
  Story story = workers_without_hooks(2);
  for (const int rank : {0, 1}) {
    story.started(rank, 2, Source::plugin);
    begins_nccl(story, rank);
    has_nccl(story, rank);
  }
  story.pass(31min);
  CHECK(story.trainings() == 1);
}

TEST_CASE("a wrapper yields to the process in which NCCL is", "[stages][nccl]") {
  Story story = workers_without_hooks(2);
  const ProcessId below{2000, 9};

  begins_nccl(story, 0, below);

  CHECK(story.stages().ranks().at(Rank{0}).process() == below);
  CHECK(story.stages().ranks().at(Rank{0}).waits_in(Stage::communicator));
  CHECK(story.stages().ranks().at(Rank{0}).blind());
}

TEST_CASE("a child of a hooked rank that uses NCCL by itself is not the rank", "[stages][nccl]") {
  Story story;
  everybody_imports(story, 2);
  begins_nccl(story, 0, {2000, 9});
  CHECK(story.stages().ranks().at(Rank{0}).process() == Story::process(0));
  CHECK_FALSE(story.stages().ranks().at(Rank{0}).entered(Stage::communicator));
}

TEST_CASE("what NCCL's log adds stands behind the verdict", "[stages][nccl]") {
  Failure verdict{
      .kind = FailureKind::hung, .stage = Stage::communicator, .waiting = {Rank{0}, Rank{1}}};
  verdict.nccl = "all 2 ranks came to NCCL: ranks 0 1 past its bootstrap";
  CHECK(describe(verdict) ==
        "hung in communicator: ranks 0 1 all wait, and none comes through; all 2 ranks came to "
        "NCCL: ranks 0 1 past its bootstrap");
}

namespace {

/// Both ranks are in their first collective, and NCCL has begun in both.
Story nccl_prepares() {
  Story story = in_the_first_collective(2);
  for (const int rank : {0, 1}) {
    story.tell(RankPrepares{Rank{rank}, Story::process(rank)});
    story.does(rank, Activity::working, "uses 99 % of a CPU");
  }
  return story;
}

}  // namespace

TEST_CASE("while NCCL loads its kernels behind a device at work no clock runs", "[stages][nccl]") {
  Story story = nccl_prepares();
  story.pass(29min);
  CHECK_FALSE(story.verdict());
  SECTION("but for the limit of work") {
    story.pass(2min);
    CHECK(story.verdict()->stage == Stage::collective);
  }
  SECTION("and once a rank waits for the others it is held to the stage's limit") {
    for (const int rank : {0, 1}) begins_nccl(story, rank);
    story.pass(181s);
    CHECK(story.verdict()->stage == Stage::collective);
  }
}

TEST_CASE("NCCL that prepares and does nothing stands still as any rank", "[stages][nccl]") {
  Story story = nccl_prepares();
  for (const int rank : {0, 1}) story.does(rank, Activity::idling, "waiting for a futex");
  story.pass(181s);
  CHECK(story.verdict()->stage == Stage::collective);
}

namespace {

/// With device_id the world has its communicator when init returns; rank 0 then makes a group.
Story makes_a_group_after_an_eager_init(int world) {
  Story story;
  everybody_imports(story, world);
  for (int rank = 0; rank < world; ++rank) {
    calls_init(story, rank, world);
    has_nccl(story, rank);
    story.reached(rank, Stage::group);
    story.does(rank, Activity::idling, "waiting for something from outside");
  }
  story.tell(StageEntered{Rank{0},
                          Story::process(0),
                          Stage::communicator,
                          "3",
                          world,
                          Source::hook,
                          {Rank{0}, Rank{1}}});
  return story;
}

}  // namespace

// DeepSpeed 0.19 inits so, and its engine makes a group: where a rank never came to the engine, no
// clock ran.
TEST_CASE("a rank that never comes to a group of an eager world is missing", "[stages][nccl]") {
  Story story = makes_a_group_after_an_eager_init(3);
  story.pass(1h);
  REQUIRE(story.verdict());
  CHECK(story.verdict()->stage == Stage::communicator);
  CHECK(story.suspects() == Ranks{1});  // rank 2 is no member
  CHECK(story.waiting() == Ranks{0});
}

TEST_CASE("a group of an eager world that is made lets its ranks go on", "[stages][nccl]") {
  Story story = makes_a_group_after_an_eager_init(2);
  has_nccl(story, 0);  // NCCL's log comes late, and tells of the world
  story.tell(StageEntered{
      Rank{1}, Story::process(1), Stage::communicator, "3", 2, Source::hook, {Rank{0}, Rank{1}}});
  for (const int rank : {0, 1})
    story.tell(StageLeft{Rank{rank}, Story::process(rank), Stage::communicator});
  story.pass(1h);
  CHECK_FALSE(story.verdict());
  story.entered(0, Stage::collective, 2, "allreduce_");
  story.pass(181s);
  CHECK(story.verdict()->stage == Stage::collective);
  CHECK(story.suspects() == Ranks{1});
}

TEST_CASE("a group of an eager world that fails leaves the world's communicator",
          "[stages][nccl]") {
  RankState state;
  state.reach(Stage::communicator, {});
  state.enter(Stage::communicator, {});
  state.make_group("3", {Rank{0}, Rank{1}}, {});
  CHECK_FALSE(state.reached(Stage::communicator));
  state.raise({Rank{0}, {}, "DistBackendError", "NCCL error", ""});  // the script may catch it
  CHECK(state.reached(Stage::communicator));
  CHECK(state.group.empty());
}
