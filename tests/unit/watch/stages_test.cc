// The clocks: for which ranks the others wait, and how long.
#include "catch.h"
#include "stages_story.h"

using namespace safelaunch;

using namespace safelaunch::watch;
using namespace safelaunch::testing;
using namespace std::chrono_literals;
using Ranks = std::vector<int>;

TEST_CASE("a job that passes all stages is training, told once and without a verdict", "[stages]") {
  Story story = four_with_a_group();
  for (int rank = 0; rank < 4; ++rank) story.entered(rank, Stage::collective, 4, "allreduce_");
  for (int rank = 0; rank < 4; ++rank) story.reached(rank, Stage::collective);

  story.pass(24h);

  CHECK(story.trainings() == 1);
  CHECK_FALSE(story.verdict());
  CHECK_FALSE(story.stages().next_deadline());
}

namespace {

// Engines reduce over gloo before they make communicators of their own, past torch.
Story server_that_has_reduced() {
  Story story({.serves = true});
  everybody_imports(story, 2);
  for (int rank = 0; rank < 2; ++rank) {
    calls_init(story, rank, 2);
    story.reached(rank, Stage::group);
    story.entered(rank, Stage::collective, 2, "barrier");
    story.reached(rank, Stage::collective);
  }
  return story;
}

}  // namespace

TEST_CASE("a server starts until it answers, whatever it has reduced", "[stages]") {
  Story story = server_that_has_reduced();
  story.pass(20min);
  CHECK(story.trainings() == 0);
  CHECK_FALSE(story.stages().may_have_trained());

  story.server_is_up();
  CHECK(story.trainings() == 1);
  CHECK(story.stages().may_have_trained());
}

TEST_CASE("a server beside a training does not end its start", "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::idling);
  story.server_is_up();
  CHECK(story.trainings() == 0);
  story.pass(10min);
  CHECK(story.suspects() == Ranks{2});
}

TEST_CASE("a server that never says that it answers is taken to after half an hour", "[stages]") {
  Story story = server_that_has_reduced();
  story.pass(31min);
  CHECK(story.trainings() == 1);
  CHECK_FALSE(story.verdict());
}

TEST_CASE("a rank that lacks in a communicator of a server is named after its collectives too",
          "[stages]") {
  Story story = server_that_has_reduced();
  story.entered(0, Stage::communicator, 2, "pynccl 1 of 2");
  story.does(0, Activity::working);
  story.does(1, Activity::idling, "sleeping");
  story.pass(10min);
  CHECK(story.at() == 180s);
  CHECK(story.suspects() == Ranks{1});
  CHECK(story.words() ==
        "hung in communicator: rank 1 is missing (idling: sleeping) while rank 0 has waited for "
        "180s");
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

TEST_CASE("scene c: a rank stopped inside the first collective is named after half a minute",
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
  CHECK(story.verdict()->certainty == Certainty::confirmed);
  CHECK(story.at() - before >= 29500ms);  // it was stopped at most half a second before it was seen
  CHECK(story.at() - before <= 31s);
}

TEST_CASE(
    "scene c: a rank that was stopped before the others began to wait is named after half a "
    "minute",
    "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::stopped);

  story.pass(1min);

  CHECK(story.suspects() == Ranks{2});
  CHECK(story.at() == 30s);
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

// Ranks 0 and 1 have reduced in a group of their own; 1 and 2 wait in the world's first collective.
static Story rank_0_is_through_a_subgroup() {
  Story story({.world_size = 3});
  everybody_imports(story, 3);
  for (int rank = 0; rank < 3; ++rank) calls_init(story, rank, 3);
  for (int rank = 0; rank < 3; ++rank) story.reached(rank, Stage::group);
  for (const int rank : {0, 1}) story.entered(rank, Stage::collective, 3, "allreduce_");
  for (const int rank : {0, 1}) story.reached(rank, Stage::collective);
  story.entered(2, Stage::collective, 3, "allreduce_");
  story.does(1, Activity::quiet);
  story.does(2, Activity::quiet);
  return story;
}

TEST_CASE("a rank that is through a subgroup's collective and works is waited for", "[stages]") {
  Story story = rank_0_is_through_a_subgroup();
  story.does(0, Activity::working, "uses 100 % of a CPU");
  story.pass(20min);
  REQUIRE_FALSE(story.verdict());

  SECTION("and when it is done the others get the time to come through") {
    story.does(0, Activity::quiet);
    story.pass(170s);
    REQUIRE_FALSE(story.verdict());
    story.pass(20s);
    CHECK(story.suspects() == Ranks{2});
  }
  SECTION("and while it works nobody is blamed") {
    story.pass(20min);
    REQUIRE(story.verdict());
    CHECK(story.at() == 30min);
    CHECK(story.suspects().empty());
  }
}

TEST_CASE("a rank that is through a subgroup's collective and idles is waited for no longer",
          "[stages]") {
  Story story = rank_0_is_through_a_subgroup();
  story.does(0, Activity::idling);
  story.pass(1h);
  CHECK(story.suspects() == Ranks{2});
  CHECK(story.at() == 180s);
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
  CHECK(story.at() == 30s);
}

TEST_CASE("a rank nobody can see is waited for for work-timeout", "[stages]") {
  Story story;
  for (const int rank : {0, 1}) {
    story.started(rank, 3);
    calls_init(story, rank, 3);
  }

  story.pass(10min);
  CHECK(story.status().find("waiting for rank 2 (never seen)") != std::string::npos);
  story.pass(30min);

  CHECK(story.suspects() == Ranks{2});
  CHECK(story.at() == 30min);
  CHECK(story.verdict()->missing.front().doing == "never seen");
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

TEST_CASE("a rank that a checkpointer stops for a while ends nothing", "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::stopped);
  story.pass(25s);
  story.does(2, Activity::working);

  story.pass(20min);

  CHECK_FALSE(story.verdict());
}

TEST_CASE("while a person holds the rank that is missing no clock runs", "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::idling);
  story.pass(100s);
  SECTION("it is at a prompt") {
    story.does(2, Activity::attended, "waits for somebody to type at the terminal");
  }
  SECTION("it waits for an editor's debugger, as it says itself") {
    story.tell(RankAttended{Rank{2}, Story::process(2), "waits for a debugger on port 5678"});
    story.pass(60s);
    CHECK(story.status().find("rank 2 (attended: waits for a debugger on port 5678)") !=
          std::string::npos);
  }
  story.pass(5h);
  REQUIRE_FALSE(story.verdict());

  story.tell(RankAttended{Rank{2}, Story::process(2), ""});
  story.does(2, Activity::working);
  story.pass(20min);
  CHECK_FALSE(story.verdict());
}

TEST_CASE("a person who holds another rank buys no time for one that sleeps", "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::idling);
  story.does(0, Activity::attended, "held by a debugger");
  story.pass(10min);
  CHECK(story.suspects() == std::vector{2});
}

TEST_CASE("where nobody is missing a person who holds one of the ranks has time", "[stages]") {
  Story story = testing::four_with_a_group();
  for (int rank = 0; rank < 4; ++rank) {
    story.entered(rank, Stage::collective, 4);
    story.does(rank, Activity::quiet);
  }
  story.does(3, Activity::attended, "held by a debugger");
  story.pass(1h);
  REQUIRE_FALSE(story.verdict());
  story.does(3, Activity::quiet);
  story.pass(170s);
  REQUIRE_FALSE(story.verdict());
  story.pass(20s);
  CHECK(story.verdict());
}

TEST_CASE("the status line says that a rank waits for somebody to type", "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::attended, "waits for somebody to type at the terminal");
  story.pass(60s);
  CHECK(story.status() ==
        "imported 4/4 · rendezvous 3/4 · group 0/4 · waiting for rank 2 (attended: waits for "
        "somebody to type at the terminal) 60s");
}

TEST_CASE("ranks that come one after the other are waited for from the last arrival", "[stages]") {
  Story story;
  everybody_imports(story, 4);
  for (const int rank : {1, 2, 3}) story.does(rank, Activity::idling, "sleeping");
  for (int rank = 0; rank < 3; ++rank) {
    calls_init(story, rank, 4);
    story.pass(150s);
  }
  REQUIRE_FALSE(story.verdict());

  story.pass(1h);

  CHECK(story.suspects() == Ranks{3});
  CHECK(story.at() == 300s + 180s);
}

TEST_CASE("a rank that fails and tries again is no arrival", "[stages]") {
  Story story = rank_2_is_missing();
  story.does(2, Activity::idling);
  for (int turn = 0; turn < 10; ++turn) {
    story.raised(1, "RuntimeError", "connection refused");
    calls_init(story, 1, 4);
    story.pass(30s);
  }

  CHECK(story.suspects() == Ranks{2});
}

TEST_CASE("a deadline of 0 waits for ever", "[stages]") {
  Story story = rank_2_is_missing({.limits = {.init = 0s, .collective = 0s}});
  story.does(2, Activity::idling);

  story.pass(2h);

  CHECK_FALSE(story.verdict());
}

TEST_CASE("a rank of another node may be at work for all that can be seen here", "[stages]") {
  Story story({.world_size = 4,
               .others_start_ranks = true,
               .ranks_here = 2,
               .limits = {.init = 180s, .work = 30min}});
  for (const int rank : {0, 1}) {
    story.started(rank, 4);
    calls_init(story, rank, 4);
    story.does(rank, Activity::quiet);
  }
  story.others_do(Activity::idling, "its launcher");

  story.pass(29min);
  CHECK_FALSE(story.verdict());
  story.pass(2min);

  CHECK(story.suspects() == std::vector<int>{2, 3});
  CHECK(story.at() == 30min);
  CHECK(story.verdict()->missing.front().activity == Activity::unseen);
}

TEST_CASE("a script that is started by hand on each host has ranks where nobody sees them",
          "[stages]") {
  const auto nameless = GENERATE(Nameless::none, Nameless::has_started_ranks, Nameless::is_left);
  const auto store = GENERATE(as<std::string>{}, "10.0.0.1:29500", "localhost:29500", "file:/a:1");
  Story story({.limits = {.init = 180s, .work = 30min}});
  story.started(0, 2);
  story.tell(
      StageEntered{Rank{0}, Story::process(0), Stage::group, "", 2, Source::hook, {}, store});
  story.does(0, Activity::quiet);
  story.others_do(Activity::idling, "bash", nameless);

  story.pass(4min);
  const bool may_be_elsewhere = nameless == Nameless::none ||
                                (store.starts_with('1') && nameless == Nameless::has_started_ranks);
  CHECK(story.verdict().has_value() != may_be_elsewhere);
  story.pass(31min);
  CHECK(story.suspects() == std::vector<int>{1});
}

TEST_CASE("a rank that this node is to start and that no process has said to be is looked for here",
          "[stages]") {
  Story story({.world_size = 4, .others_start_ranks = true, .ranks_here = 2});
  story.started(0, 4);
  calls_init(story, 0, 4);
  story.others_do(Activity::idling, "a process of the job");

  CHECK(story.stages().misses_unseen());
}

TEST_CASE("a rank that somebody has stopped is named however long others may take", "[stages]") {
  Story story({.world_size = 4, .others_start_ranks = true, .ranks_here = 2});
  for (const int rank : {0, 1}) story.started(rank, 4);
  calls_init(story, 0, 4);
  story.does(1, Activity::stopped);

  story.pass(40s);

  CHECK(story.suspects() == std::vector<int>{1});
}
