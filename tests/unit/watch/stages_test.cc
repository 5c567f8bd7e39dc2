#include "safelaunch/watch/stages.h"

#include "catch.h"
#include "stages_story.h"

using namespace safelaunch;
using namespace safelaunch::testing;
using namespace std::chrono_literals;
using Ranks = std::vector<int>;

namespace {

// Four ranks, all through init, none in a collective.
Story four_with_a_group() {
  Story story;
  everybody_imports(story, 4);
  for (int rank = 0; rank < 4; ++rank) calls_init(story, rank, 4);
  for (int rank = 0; rank < 4; ++rank) story.reached(rank, Stage::group);
  return story;
}

// Ranks 0, 1 and 3 of four wait in init_process_group; rank 2 has imported torch and no more.
Story rank_2_is_missing(StagesConfig config = {}) {
  Story story(std::move(config));
  everybody_imports(story, 4);
  for (const int rank : {0, 1, 3}) {
    calls_init(story, rank, 4);
    story.does(rank, Activity::quiet);
  }
  return story;
}

}  // namespace

TEST_CASE("a job that passes all stages is training, told once and without a verdict", "[stages]") {
  Story story = four_with_a_group();
  for (int rank = 0; rank < 4; ++rank) story.entered(rank, Stage::collective, 4, "allreduce_");
  for (int rank = 0; rank < 4; ++rank) story.reached(rank, Stage::collective);

  story.pass(24h);

  CHECK(story.trainings() == 1);
  CHECK_FALSE(story.verdict());
  CHECK_FALSE(story.stages().next_deadline());
}

TEST_CASE("scene b: a rank that sleeps before init is named after init-timeout", "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::idling, "sleeping in hrtimer_nanosleep");

  story.pass(10min);

  REQUIRE(story.verdict());
  CHECK(story.at() == 180s);
  CHECK(story.verdict()->stage == Stage::group);
  CHECK(story.suspects() == Ranks{2});
  CHECK(story.waiting() == Ranks{0, 1, 3});
  CHECK(story.words() ==
        "hung in group: rank 2 is missing (idling: sleeping in hrtimer_nanosleep) while ranks 0 1 "
        "3 have waited for 180s");
}

TEST_CASE("a missing rank that nothing will wake is waited for for quiet-timeout only",
          "[stages]") {
  Story story = rank_2_is_missing({.limits = {.quiet = 10s}});
  story.does(2, Activity::quiet);

  story.pass(10min);

  CHECK(story.suspects() == Ranks{2});
  CHECK(story.at() >= 10s);
  CHECK(story.at() <= 11s);
}

TEST_CASE("with rank 0 as host of the store the ranks in group and rendezvous name the same rank",
          "[stages]") {
  Story story;
  everybody_imports(story, 3);
  story.entered(0, Stage::group, 3);
  story.entered(0, Stage::rendezvous, 3, "127.0.0.1:29500");  // blocks until all have joined
  calls_init(story, 1, 3);
  story.does(2, Activity::quiet);

  story.pass(10min);

  CHECK(story.verdict()->stage == Stage::group);
  CHECK(story.suspects() == Ranks{2});
  CHECK(story.waiting() == Ranks{0, 1});
}

TEST_CASE("scene c: a rank stopped inside the first collective is named within a second",
          "[stages]") {
  Story story = four_with_a_group();
  for (int rank = 0; rank < 4; ++rank) {
    story.entered(rank, Stage::collective, 4, "allreduce_");
    story.does(rank, Activity::quiet);
  }
  story.pass(5s);
  story.does(1, Activity::stopped, "stopped (SIGSTOP)");
  const Duration before = story.at();

  story.pass(1min);

  CHECK(story.suspects() == Ranks{1});
  CHECK(story.waiting() == Ranks{0, 2, 3});
  CHECK(story.verdict()->certainty == Verdict::Certainty::certain);
  CHECK(story.at() - before <= 1s);  // half a second until it is seen, then a little patience
}

TEST_CASE(
    "scene c: a rank that was stopped before the others began to wait is named after a second",
    "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::stopped);

  story.pass(1min);

  CHECK(story.suspects() == Ranks{2});
  CHECK(story.at() <= 1s);
}

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
  CHECK(story.verdict()->kind == Verdict::Kind::rank_died);
  CHECK(story.suspects() == Ranks{3});
  CHECK(story.waiting() == Ranks{0});
  CHECK(story.words() == words);
  CHECK(story.verdict()->suspects.front().status == status);
}

TEST_CASE("ranks that die after the first one are followers", "[stages]") {
  Story story;
  everybody_imports(story, 4);

  story.exited(3, Exited{3});
  story.exited(0, Exited{1});

  CHECK(story.suspects() == Ranks{3});
  CHECK(story.stages().first_failure()->rank == Rank{3});
}

TEST_CASE("scene d: a launcher that restarts its ranks is left alone", "[stages]") {
  Story story({.dead_rank = DeadRank::is_restarted});
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
  Story story({.dead_rank = DeadRank::hangs_the_others});
  everybody_imports(story, 2);
  story.exited(1, Exited{3});
  CHECK_FALSE(story.verdict());

  story.entered(0, Stage::group, 2);

  REQUIRE(story.verdict());
  CHECK(story.verdict()->kind == Verdict::Kind::rank_died);
  CHECK(story.suspects() == Ranks{1});
}

TEST_CASE("a rank that ends with status 0 before init hangs the others, said at once", "[stages]") {
  Story story = rank_2_is_missing();

  story.exited(2, Exited{0});

  REQUIRE(story.verdict());
  CHECK(story.verdict()->kind == Verdict::Kind::hung);
  CHECK(story.suspects() == Ranks{2});
  CHECK(story.words() ==
        "hung in group: rank 2 is missing (dead: exit status 0) while ranks 0 1 3 have waited for "
        "0s");
}

TEST_CASE("scene e: a rank that works before init is waited for and named", "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::working, "c++ compiles in a child (pid 71)");
  story.pass(29min);
  REQUIRE_FALSE(story.verdict());
  CHECK(story.status() ==
        "imported 4/4 · rendezvous 3/4 · group 0/4 · waiting for rank 2 (working: c++ compiles in "
        "a child (pid "
        "71)) 29min/30min");

  calls_init(story, 2, 4);
  for (int rank = 0; rank < 4; ++rank) story.reached(rank, Stage::group);

  story.pass(1h);
  CHECK_FALSE(story.verdict());
}

TEST_CASE("scene e: rank 0 prepares data while the others wait in their first barrier",
          "[stages]") {
  Story story = four_with_a_group();
  for (const int rank : {1, 2, 3}) {
    story.entered(rank, Stage::collective, 4, "barrier");
    story.does(rank, Activity::quiet);
  }
  story.does(0, Activity::working, "reads 40 MB/s");

  story.pass(20min);

  CHECK_FALSE(story.verdict());
}

TEST_CASE("a rank that works for ever is named after work-timeout", "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::working);

  story.pass(2h);

  CHECK(story.suspects() == Ranks{2});
  CHECK(story.at() == 30min);
}

TEST_CASE("idling counts from when the rank last worked", "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::working);
  story.pass(5min);
  story.does(2, Activity::idling);

  story.pass(170s);
  CHECK_FALSE(story.verdict());
  story.pass(20s);

  CHECK(story.suspects() == Ranks{2});
}

TEST_CASE("a rank that sleeps until another has done its work is not blamed meanwhile",
          "[stages]") {
  Story story;
  everybody_imports(story, 3);
  calls_init(story, 0, 3);
  story.does(1, Activity::working, "c++ compiles in a child (pid 71)");
  story.does(2, Activity::idling, "waits for a lock file");

  story.pass(15min);

  CHECK_FALSE(story.verdict());
}

TEST_CASE("a stopped rank is named although another one works", "[stages]") {
  Story story;
  everybody_imports(story, 3);
  calls_init(story, 0, 3);
  story.does(1, Activity::working);
  story.does(2, Activity::stopped);

  story.pass(15min);

  CHECK(story.suspects() == Ranks{2});
  CHECK(story.at() <= 1s);
}

TEST_CASE("a rank nobody can see is waited for for init-timeout", "[stages]") {
  Story story;
  for (const int rank : {0, 1}) {
    story.started(rank, 3);
    calls_init(story, rank, 3);
  }

  story.pass(10min);

  CHECK(story.suspects() == Ranks{2});
  CHECK(story.at() == 180s);
  CHECK(story.verdict()->suspects.front().doing == "never seen");
}

TEST_CASE("where all have entered, the stage's timeout runs from the last news", "[stages]") {
  Story story = four_with_a_group();
  for (int rank = 0; rank < 4; ++rank) story.does(rank, Activity::working);  // NCCL spins
  for (int rank = 0; rank < 4; ++rank) {
    story.entered(rank, Stage::collective, 4, "allreduce_");
    if (rank < 3) story.pass(60s);
  }

  story.pass(1h);

  REQUIRE(story.verdict());
  CHECK(story.at() == 180s + 180s);
  CHECK(story.verdict()->stage == Stage::collective);
  CHECK(story.suspects().empty());
  CHECK(story.words() == "hung in collective: ranks 0-3 all wait, and none comes through");
}

TEST_CASE("a rank that cannot reach the store is named, not those it lets wait", "[stages]") {
  Story story;
  everybody_imports(story, 3);
  for (const int rank : {0, 2}) calls_init(story, rank, 3);
  story.entered(1, Stage::group, 3);
  story.entered(1, Stage::rendezvous, 3, "127.0.0.1:29999");  // the wrong port

  story.pass(1h);

  CHECK(story.verdict()->stage == Stage::rendezvous);
  CHECK(story.suspects() == Ranks{1});
  CHECK(story.waiting() == Ranks{0, 2});
}

TEST_CASE("a deadline of 0 waits for ever", "[stages]") {
  Story story = rank_2_is_missing({.limits = {.init = 0s, .collective = 0s}});
  story.does(2, Activity::idling);

  story.pass(48h);

  CHECK_FALSE(story.verdict());
}

TEST_CASE("scene j: WORLD_SIZEs that differ at one store are named at once", "[stages]") {
  Story story;
  calls_init(story, 0, 2);
  CHECK_FALSE(story.verdict());

  story.entered(1, Stage::rendezvous, 3, "127.0.0.1:29500");

  REQUIRE(story.verdict());
  CHECK(story.verdict()->kind == Verdict::Kind::world_size_mismatch);
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
  CHECK(story.verdict()->kind == Verdict::Kind::duplicate_rank);
  CHECK(story.words() ==
        "rank 1 was given twice: pid 1001 and pid 2001 both came as it to 127.0.0.1:29500");
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

  CHECK(story.verdict()->kind == Verdict::Kind::rank_died);
}

TEST_CASE("scene j: a user's exception is kept with the rank's end", "[stages]") {
  Story story;
  everybody_imports(story, 2);
  story.raised(1, "ValueError", "no such dataset");
  CHECK_FALSE(story.verdict());

  story.exited(1, Exited{1});

  REQUIRE(story.verdict());
  CHECK(story.verdict()->kind == Verdict::Kind::raised);
  CHECK(story.verdict()->texts ==
        std::vector<std::string>{"ValueError: no such dataset", "Traceback"});
}

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

TEST_CASE("a rank that raised and cannot end lets the others wait, and is named", "[stages]") {
  Story story;
  everybody_imports(story, 2);
  for (const int rank : {0, 1}) calls_init(story, rank, 2);
  story.raised(1, "RuntimeError", "CUDA error");
  story.does(1, Activity::quiet);

  story.pass(1h);

  CHECK(story.suspects() == Ranks{1});
  CHECK(story.verdict()->texts.front() == "RuntimeError: CUDA error");
}

TEST_CASE("scene k: after the first collective nothing is judged", "[stages]") {
  Story story = four_with_a_group();
  for (int rank = 0; rank < 4; ++rank) story.reached(rank, Stage::collective);

  story.does(1, Activity::stopped);
  story.pass(1h);
  story.exited(2, Exited{1});

  CHECK_FALSE(story.verdict());
  CHECK(story.stages().first_failure()->rank == Rank{2});
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
  Stages stages(StagesConfig{});
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

  CHECK(story.verdict()->source == Source::proc);
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

TEST_CASE("a rank that ends with status 0 right after its collective has come through",
          "[stages]") {
  Story story = four_with_a_group();
  for (int rank = 0; rank < 4; ++rank) story.entered(rank, Stage::collective, 4, "allreduce_");

  story.exited(0, Exited{0});  // os._exit: its coll.done never came
  CHECK_FALSE(story.verdict());
  for (const int rank : {1, 2, 3}) story.reached(rank, Stage::collective);

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
    story.entered(rank, Stage::group, 4);
    story.reached(rank, Stage::imported);
  }
  story.tell(RankExited{Rank{77}, {1, 1}, Exited{1}});
  story.tell(RankRaised{Rank{77}, {1, 1}, "E", "m", ""});
  story.tell(RankActivity{Rank{77}, {1, 1}, Activity::stopped, ""});
  story.pass(1h);

  CHECK(story.trainings() == 1);
  CHECK_FALSE(story.verdict());
}
