// Jobs that are never given a verdict.
#include "catch.h"
#include "stages_story.h"

using namespace safelaunch;

using namespace safelaunch::watch;
using namespace safelaunch::testing;
using namespace std::chrono_literals;
using Ranks = std::vector<int>;

TEST_CASE("an init that raises and is tried again with another backend is healthy", "[stages]") {
  Story story;
  everybody_imports(story, 2);
  for (const int rank : {0, 1}) {
    calls_init(story, rank, 2);
    story.raised(rank, "RuntimeError", "Distributed package doesn't have NCCL built in");
  }
  story.pass(1h);  // nobody waits
  REQUIRE_FALSE(story.verdict());

  for (const int rank : {0, 1}) calls_init(story, rank, 2);
  for (const int rank : {0, 1}) story.reached(rank, Stage::collective);

  CHECK(story.trainings() == 1);
}

TEST_CASE("a rank that asks rarely for a store that came late is waited for", "[stages]") {
  Story story({.limits = {.init = 8s}});
  everybody_imports(story, 2);
  story.entered(1, Stage::group, 2);
  story.entered(1, Stage::rendezvous, 2, "127.0.0.1:29500");
  story.does(0, Activity::working);
  story.pass(20s);
  story.does(0, Activity::idling);
  story.entered(0, Stage::group, 2);
  story.entered(0, Stage::rendezvous, 2, "127.0.0.1:29500");

  story.pass(25s);  // torch has seen no reason to ask again
  REQUIRE_FALSE(story.verdict());
  story.pass(10s);

  CHECK(story.words() == "hung in group: ranks 0 1 all wait, and none comes through");
}

TEST_CASE(
    "a rank that asks rarely, since the store's rank was at a debugger's prompt, is waited for",
    "[stages]") {
  Story story({.limits = {.init = 8s}});
  everybody_imports(story, 2);
  story.entered(1, Stage::group, 2);
  story.entered(1, Stage::rendezvous, 2, "127.0.0.1:29500");
  story.does(0, Activity::attended, "waits for somebody to type at the terminal");
  story.pass(20s);
  story.does(0, Activity::idling);
  story.entered(0, Stage::group, 2);
  story.entered(0, Stage::rendezvous, 2, "127.0.0.1:29500");

  story.pass(25s);
  REQUIRE_FALSE(story.verdict());
  story.pass(20s);

  CHECK(story.words() == "hung in group: ranks 0 1 all wait, and none comes through");
}

TEST_CASE("scene k: after the first collective nothing is judged", "[stages]") {
  Story story = four_with_a_group();
  for (int rank = 0; rank < 4; ++rank) story.reached(rank, Stage::collective);

  story.does(1, Activity::stopped);
  story.pass(1h);
  story.exited(2, Exited{1});

  CHECK_FALSE(story.verdict());
}

TEST_CASE("a job that is suspended as a whole is not hung", "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::idling);
  story.pass(100s);
  for (int rank = 0; rank < 4; ++rank) story.does(rank, Activity::stopped);
  story.pass(1h);
  REQUIRE_FALSE(story.verdict());

  for (int rank = 0; rank < 4; ++rank) story.does(rank, Activity::idling);
  story.pass(70s);  // 170 s of its 180 s
  CHECK_FALSE(story.verdict());
  story.pass(20s);

  CHECK(story.suspects() == Ranks{2});
}

TEST_CASE("a minute in which safelaunch itself was stopped counts against nobody", "[stages]") {
  Story story = rank_2_is_missing({.limits = {.init = 60s, .quiet = 10s}});
  story.does(2, Activity::quiet);
  story.pass(8s);

  story.sleep(60s);
  SECTION("and a tick comes first") {
    story.look();
  }
  SECTION("and news comes first") {
    calls_init(story, 2, 4);
  }

  CHECK_FALSE(story.verdict());
}

TEST_CASE("a tick whose samples are old does not take a rank for stopped", "[stages]") {
  watch::Stages stages(watch::StagesConfig{});
  const TimePoint t0{1h};
  const auto at = [&](int rank) { return ProcessId{rank + 1, 1}; };
  for (int rank = 0; rank < 2; ++rank)
    (void)stages.on(RankStarted{Rank{rank}, at(rank), 2, Source::hook}, t0);
  (void)stages.on(StageEntered{Rank{0}, at(0), Stage::group, {}, 2, Source::hook}, t0);
  (void)stages.on(RankActivity{Rank{1}, at(1), Activity::stopped, {}}, t0);

  (void)stages.tick(t0 + 4s);

  CHECK_FALSE(stages.verdict());
}

TEST_CASE("a lazy NCCL makes nobody wait in group, however long the others take", "[stages]") {
  Story story;
  everybody_imports(story, 2);
  calls_init(story, 0, 2);
  story.reached(0, Stage::group);

  story.pass(5h);
  CHECK_FALSE(story.verdict());
  CHECK(story.looks() == 0);

  story.entered(0, Stage::collective, 2, "allreduce_");
  story.does(1, Activity::idling);
  story.pass(1h);

  CHECK(story.verdict()->stage == Stage::collective);
  CHECK(story.suspects() == Ranks{1});
}

TEST_CASE("a communicator that comes before its group is healthy", "[stages]") {
  Story story;
  everybody_imports(story, 2);
  for (const int rank : {0, 1}) calls_init(story, rank, 2);
  for (const int rank : {0, 1}) {
    story.tell(StageEntered{Rank{rank}, Story::process(rank), Stage::communicator, "Init START",
                            std::nullopt, Source::nccl_log});
    story.reached(rank, Stage::communicator, Source::nccl_log);
  }
  CHECK(story.stages().ranks().at(Rank{0}).waits_in(Stage::group));
  for (const int rank : {0, 1}) story.reached(rank, Stage::group);

  story.pass(5h);

  CHECK_FALSE(story.verdict());
}

TEST_CASE("a rank without a hook is not blamed for its silence in a collective", "[stages]") {
  Story story;
  for (const int rank : {0, 1}) story.started(rank, 2, Source::launch);
  story.entered(0, Stage::group, 2);
  story.reached(0, Stage::group);
  story.reached(1, Stage::group, Source::proc);
  story.entered(0, Stage::collective, 2, "allreduce_");
  story.does(1, Activity::quiet);

  story.pass(100s);  // three times quiet-timeout
  CHECK_FALSE(story.verdict());
  story.pass(1h);
}

TEST_CASE("a rank without a hook that ends in order may have done its part", "[stages]") {
  Story story;
  for (const int rank : {0, 1}) story.started(rank, 2, Source::launch);
  story.entered(0, Stage::collective, 2, "allreduce_");

  story.exited(1, Exited{0});
  story.pass(10s);
  CHECK_FALSE(story.verdict());
  story.reached(0, Stage::collective);

  story.pass(1h);
  CHECK_FALSE(story.verdict());
}

TEST_CASE("without any hook a job is taken to train once all have their group", "[stages]") {
  Story story;
  for (const int rank : {0, 1}) {
    story.started(rank, 2, Source::proc);
    story.reached(rank, Stage::group, Source::proc);
  }

  CHECK(story.trainings() == 1);
}

TEST_CASE("a job that never meets gets no verdict and is not sampled", "[stages]") {
  Story story;
  everybody_imports(story, 4);
  story.pass(24h);
  for (int rank = 0; rank < 4; ++rank) story.exited(rank, Exited{0});

  CHECK_FALSE(story.verdict());
  CHECK(story.looks() == 0);
}

TEST_CASE("a silent driver is a verdict of its own, though nobody waits", "[stages]") {
  watch::Stages stages({.world_size = 2});
  const TimePoint now{};
  for (const int rank : {0, 1})
    (void)stages.on(RankStarted{Rank{rank}, Story::process(rank), 2, Source::launch}, now);
  const auto actions = stages.driver_is_silent({Rank{0}, Rank{1}}, "it is silent", now);
  REQUIRE(stages.verdict());
  CHECK(stages.verdict()->kind == FailureKind::driver_silent);
  CHECK(is_stuck(stages.verdict()->kind));
  CHECK(describe(*stages.verdict()) == "it is silent");
  CHECK_FALSE(actions.empty());
}

TEST_CASE("a standstill that has lasted too long is a verdict about all who stand", "[stages]") {
  Story story;
  everybody_imports(story, 2);
  watch::Stages stages = story.stages();
  const auto actions = stages.stood_still(10min, {{Rank{0}, "sleeping"}, {Rank{1}, "sleeping"}},
                                          "all stand", TimePoint{} + 200h);
  REQUIRE(stages.verdict());
  const Failure& verdict = *stages.verdict();
  CHECK(verdict.kind == FailureKind::stood_still);
  CHECK(verdict.stage == Stage::rendezvous);
  CHECK(verdict.waiting.empty());
  REQUIRE(verdict.missing.size() == 2);
  CHECK(verdict.missing[1].activity == Activity::idling);
  CHECK(verdict.waited == 10min);
  CHECK(is_stuck(verdict.kind));
  CHECK(describe(verdict) == "all stand");
  CHECK_FALSE(actions.empty());
}

TEST_CASE("a standstill of ranks that have trained, or of which one waits, is no verdict",
          "[stages]") {
  Story trains = four_with_a_group();
  trains.reached(0, Stage::collective);
  Story waits = rank_2_is_missing();
  for (watch::Stages stages : {trains.stages(), waits.stages()}) {
    (void)stages.stood_still(10min, {{Rank{2}, "sleeping"}}, "all stand", TimePoint{} + 200h);
    CHECK_FALSE(stages.verdict());
  }
}

TEST_CASE("a world of one gets no verdict", "[stages]") {
  Story story;
  story.started(0, 1);
  calls_init(story, 0, 1);
  story.pass(24h);
  story.exited(0, Exited{1});

  CHECK_FALSE(story.verdict());
}

TEST_CASE("while a rank waits there are about two looks a second", "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::working);

  story.pass(600s);

  CHECK(story.looks() >= 1200);
  CHECK(story.looks() <= 1210);
}

TEST_CASE("the status changes only when the ranks do", "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::working, "reads 40 MB/s");
  story.pass(5s);
  const std::size_t lines = story.lines().size();
  CHECK(story.lines().back() ==
        "imported 4/4 · rendezvous 3/4 · group 0/4 · waiting for rank 2 (working: reads 40 MB/s)");

  story.does(2, Activity::working, "reads 41 MB/s");
  story.pass(60s);

  CHECK(story.lines().size() == lines);
}

TEST_CASE("events that come late, twice or from a stranger change nothing", "[stages]") {
  Story story = four_with_a_group();
  for (int rank = 0; rank < 4; ++rank) {
    story.reached(rank, Stage::collective);
    story.entered(rank, Stage::collective, 4, "allreduce_");
    story.reached(rank, Stage::group);
    story.reached(rank, Stage::imported);
  }
  story.tell(RankExited{Rank{77}, {1, 1}, Exited{1}});
  story.tell(RankRaised{Rank{77}, {1, 1}, "E", "m", ""});
  story.tell(RankActivity{Rank{77}, {1, 1}, Activity::stopped, ""});
  story.pass(1h);

  CHECK(story.trainings() == 1);
  CHECK_FALSE(story.verdict());
}

TEST_CASE("a rank that no process has said to be may be any that works", "[stages]") {
  Story story;
  story.started(0, 2);
  calls_init(story, 0, 2);
  story.others_do(Activity::working, "uses 98 % of a CPU");

  story.pass(10min);
  CHECK_FALSE(story.verdict());
  CHECK(story.status().find("rank 1 (working: never seen; another process: uses 98 % of a CPU)") !=
        std::string::npos);

  SECTION("and it idles when none works any more") {
    story.others_do(Activity::quiet);
    story.pass(170s);
    CHECK_FALSE(story.verdict());
    story.pass(20s);
    CHECK(story.suspects() == Ranks{1});
  }
  SECTION("and has its time to work, no more") {
    story.pass(21min);
    CHECK(story.suspects() == Ranks{1});
  }
  SECTION("and comes at last") {
    story.started(1, 2);
    for (const int rank : {0, 1}) story.reached(rank, Stage::collective);
    CHECK(story.trainings() == 1);
  }
}

TEST_CASE("processes of this node say nothing of another node's rank", "[stages]") {
  Story story({.world_size = 2, .expected_here = {Rank{0}}});
  story.started(0, 2);
  calls_init(story, 0, 2);
  story.others_do(Activity::attended);

  story.pass(29min);
  CHECK_FALSE(story.verdict());
  story.pass(2min);

  CHECK(story.suspects() == Ranks{1});
}

TEST_CASE("the second of two worlds waits for a process that has entered none yet", "[stages]") {
  Story story;
  for (int rank = 0; rank < 4; ++rank) story.started(rank, 4);
  const auto enters = [&](int process, int rank) {
    story.tell(
        StageEntered{Rank{rank}, Story::process(process), Stage::group, {}, 2, Source::hook});
  };
  enters(2, 0);  // of the second world, which is here before the first
  enters(1, 1);
  story.tell(StageReached{Rank{1}, Story::process(1), Stage::collective, Source::hook});
  for (const int process : {0, 2}) story.does(process, Activity::idling);

  SECTION("for as long as that one works") {
    story.does(3, Activity::working);
    story.pass(25min);
    CHECK_FALSE(story.verdict());
    story.pass(10min);
    CHECK(story.verdict());
    CHECK(story.suspects().empty());
  }
  SECTION("and no longer than usual where it idles") {
    story.does(3, Activity::idling);
    story.pass(200s);
    CHECK(story.verdict());
  }
}

TEST_CASE("the last report of a collective may come behind the ends of the other ranks",
          "[stages]") {
  Story story;
  for (int rank = 0; rank < 3; ++rank) {
    story.started(rank, 3);
    calls_init(story, rank, 3);
    story.reached(rank, Stage::group);
  }
  for (const int rank : {0, 1}) story.reached(rank, Stage::collective);  // of a group of their own
  story.entered(2, Stage::collective, 3, "allreduce_");
  for (const int rank : {0, 1}) story.does(rank, Activity::working);
  story.does(2, Activity::quiet);
  story.pass(200s);
  for (const int rank : {0, 1}) story.exited(rank, Exited{0});
  story.pass(3s);
  CHECK_FALSE(story.verdict());
  SECTION("and comes") {
    story.reached(2, Stage::collective);
    story.pass(60s);
    CHECK_FALSE(story.verdict());
  }
  SECTION("and where it does not come, the rank hangs") {
    story.pass(5s);
    CHECK(story.suspects() == Ranks{2});
  }
}

TEST_CASE("a rank that waits for a daemon's answer has time while daemons work", "[stages]") {
  Story story = rank_2_is_missing();
  story.awaits_another(2);
  story.helpers_do(Activity::working);
  SECTION("and idles when none works any more") {
    story.pass(10min);
    CHECK_FALSE(story.verdict());
    story.helpers_do(Activity::quiet);
    story.pass(170s);
    CHECK_FALSE(story.verdict());
    story.pass(20s);
    CHECK(story.suspects() == Ranks{2});
  }
  SECTION("and no more than to work") {
    story.pass(29min);
    CHECK_FALSE(story.verdict());
    story.pass(2min);
    CHECK(story.suspects() == Ranks{2});
  }
  SECTION("but not where it sleeps by itself") {
    story.does(2, Activity::idling);
    story.pass(200s);
    CHECK(story.suspects() == Ranks{2});
  }
  SECTION("but not where it is stopped") {
    story.does(2, Activity::stopped);
    story.pass(40s);
    CHECK(story.suspects() == Ranks{2});
  }
}
