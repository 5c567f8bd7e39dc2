// The identity of ranks and of their worlds: processes that are helpers, that choose another rank,
// that begin anew.
#include "catch.h"
#include "safelaunch/watch/observer.h"
#include "stages_story.h"

namespace safelaunch::watch {
namespace {

using namespace std::chrono_literals;
using testing::calls_init;
using testing::everybody_imports;
using testing::Story;

constexpr ProcessId kHelper{5000, 9};

// The first that speaks as rank `rank` is a helper of the shell that is the rank.
void helper_speaks(Story& story, int rank) {
  story.tell(RankStarted{Rank{rank}, kHelper, 2, Source::hook, true, Story::process(rank)});
}

TEST_CASE("a rank that has ended before its hook could be looked up is no other process",
          "[stages]") {
  const ProcessId unseen{Story::process(1).pid, 0};
  const bool speaks_first = GENERATE(true, false);
  Story story;
  story.tell(RankStarted{Rank{1}, Story::process(1), 2, Source::launch});
  if (speaks_first) story.tell(RankStarted{Rank{1}, unseen, 2, Source::hook});
  story.exited(1, Exited{0});
  if (!speaks_first) story.tell(RankStarted{Rank{1}, unseen, 2, Source::hook});
  CHECK(story.stages().ranks().at(Rank{1}).ended());
}

TEST_CASE("a helper of a shell may fail before the rank begins", "[stages]") {
  Story story;
  helper_speaks(story, 1);
  story.tell(RankExited{Rank{1}, kHelper, Exited{1}});
  everybody_imports(story, 2);
  CHECK_FALSE(story.verdict());
  CHECK(story.stages().rank_of(Story::process(1)) == Rank{1});
}

TEST_CASE("a helper of a shell that ends in order is not the end of the rank", "[stages]") {
  Story story;
  story.started(0, 2);
  helper_speaks(story, 1);
  story.tell(RankExited{Rank{1}, kHelper, Exited{0}});
  calls_init(story, 0, 2);
  story.does(1, Activity::working);
  story.pass(2min);
  CHECK_FALSE(story.verdict());
}

TEST_CASE("a shell whose helper has ended is blind until its next Python speaks", "[stages]") {
  Story story;
  helper_speaks(story, 1);
  CHECK_FALSE(story.stages().ranks().at(Rank{1}).blind());
  story.tell(RankExited{Rank{1}, kHelper, Exited{0}});
  CHECK(story.stages().ranks().at(Rank{1}).blind());
  story.started(1, 2);
  CHECK_FALSE(story.stages().ranks().at(Rank{1}).blind());
}

TEST_CASE("the shell above a rank that its launcher has restarted is known too", "[stages]") {
  Story story;
  story.started(1, 2);
  story.exited(1, Exited{0});
  story.tell(RankStarted{Rank{1}, kHelper, 2, Source::hook, true, ProcessId{6000, 9}});
  story.tell(RankExited{Rank{1}, kHelper, Exited{0}});
  CHECK(story.stages().rank_of(ProcessId{6000, 9}) == Rank{1});
}

TEST_CASE("a script may exchange the ranks that its launcher gave", "[stages]") {
  Story story;
  everybody_imports(story, 2);
  const auto enters_as = [&](int process, int rank) {
    story.tell(StageEntered{Rank{rank}, Story::process(process), Stage::group, "gloo", 2});
  };
  enters_as(1, 0);
  CHECK(story.stages().rank_of(Story::process(1)) == Rank{0});
  CHECK(story.stages().rank_of(Story::process(0)) == Rank{1});  // the one that is left
  story.tell(RankActivity{Rank{1}, Story::process(0), Activity::working, ""});
  enters_as(0, 1);
  for (int rank = 0; rank < 2; ++rank)
    story.tell(StageReached{Rank{1 - rank}, Story::process(rank), Stage::collective});
  CHECK(story.trainings() == 1);
  CHECK_FALSE(story.verdict());
}

TEST_CASE("three processes that each take the next rank keep a place each", "[stages]") {
  Story story;
  everybody_imports(story, 3);
  for (const int process : {0, 1, 2})
    story.tell(StageEntered{Rank{(process + 1) % 3}, Story::process(process), Stage::group, "", 3});
  for (const int process : {0, 1, 2})
    CHECK(story.stages().rank_of(Story::process(process)) == Rank{(process + 1) % 3});
}

TEST_CASE("a process that runs another program begins from nothing", "[stages]") {
  Story story;
  everybody_imports(story, 2);
  for (const int rank : {0, 1}) {
    calls_init(story, rank, 2);
    story.reached(rank, Stage::group);
  }
  story.entered(0, Stage::collective, 2);
  story.reached(0, Stage::collective);
  story.tell(RankStarted{Rank{0}, Story::process(0), 2, Source::hook, true});
  CHECK(story.stages().ranks().at(Rank{0}).furthest() == Stage::spawned);
  CHECK(story.stages().may_have_trained());  // what it did before is done
}

TEST_CASE("the second world of a process is waited for like the first", "[stages]") {
  Story story;
  everybody_imports(story, 2);
  for (const int rank : {0, 1}) {
    calls_init(story, rank, 2);
    story.reached(rank, Stage::group);
  }
  calls_init(story, 0, 2);
  story.does(0, Activity::quiet);
  story.does(1, Activity::idling);
  story.pass(1h);
  CHECK(story.suspects() == std::vector{1});
}

TEST_CASE("a job trains once the ranks have their second world's collective", "[stages]") {
  Story story;
  everybody_imports(story, 2);
  for (int world = 0; world < 2; ++world)
    for (const int rank : {0, 1}) {
      calls_init(story, rank, 2);
      story.reached(rank, Stage::group);
    }
  CHECK(story.trainings() == 0);
  for (const int rank : {0, 1}) story.reached(rank, Stage::collective);
  CHECK(story.trainings() == 1);
}

TEST_CASE("a job does not train while a second world's process waits as the same rank",
          "[stages]") {
  Story story;
  everybody_imports(story, 2);
  for (const int rank : {0, 1}) calls_init(story, rank, 2);
  const ProcessId other{7000, 9};
  story.tell(StageEntered{Rank{0}, other, Stage::group, "gloo", 2});
  story.tell(StageEntered{Rank{0}, other, Stage::rendezvous, "127.0.0.1:1", 2});
  for (const int rank : {0, 1}) story.reached(rank, Stage::collective);
  CHECK(story.trainings() == 0);
  story.tell(StageReached{Rank{0}, other, Stage::collective});
  CHECK(story.trainings() == 1);
  CHECK_FALSE(story.verdict());
}

TEST_CASE("ranks of two worlds that come in any order are parted by where they meet", "[stages]") {
  // vLLM's engines 1 and 2; rank 1 of the first still works.
  const std::vector<std::pair<int, int>> kFirst{{0, 10}, {1, 11}};
  const std::vector<std::pair<int, int>> kLast{{1, 11}, {0, 10}};
  for (const auto& second : {kFirst, kLast}) {
    Story story;
    const auto enters = [&](int rank, ProcessId process, const char* store) {
      story.tell(StageEntered{.rank = Rank{rank},
                              .process = process,
                              .stage = Stage::group,
                              .detail = "gloo",
                              .world_size = 2,
                              .source = Source::hook,
                              .meets = store});
    };
    enters(0, Story::process(0), "file:/tmp/a");
    for (const auto& [rank, process] : second) enters(rank, Story::process(process), "file:/tmp/b");
    for (const auto& [rank, process] : second)
      story.tell(StageReached{Rank{rank}, Story::process(process), Stage::collective});
    story.tell(RankStarted{Rank{1}, Story::process(1), 2, Source::proc});
    story.does(1, Activity::working);
    story.does(0, Activity::idling);
    story.pass(10min);
    CHECK_FALSE(story.verdict());
    story.does(1, Activity::idling);
    story.pass(10min);
    CHECK(story.suspects() == std::vector{1});
  }
}

TEST_CASE("one rank alone in new_group is waiting for the others of the group", "[stages]") {
  Story story = testing::four_with_a_group();
  story.tell(StageEntered{
      Rank{0}, Story::process(0), Stage::communicator, "1", 4, Source::hook, {Rank{0}, Rank{1}}});
  for (const int rank : {1, 2, 3}) story.does(rank, Activity::idling);
  story.pass(1h);
  CHECK(story.suspects() == std::vector{1});
  CHECK(story.verdict()->stage == Stage::communicator);
}

TEST_CASE("a group that is made makes room for the next", "[stages]") {
  Story story = testing::four_with_a_group();
  for (int group = 0; group < 3; ++group)
    for (const int rank : {0, 1}) {
      story.tell(StageEntered{Rank{rank},
                              Story::process(rank),
                              Stage::communicator,
                              "1",
                              4,
                              Source::hook,
                              {Rank{0}, Rank{1}}});
      story.tell(StageLeft{Rank{rank}, Story::process(rank), Stage::communicator});
    }
  for (int rank = 0; rank < 4; ++rank) story.does(rank, Activity::idling);
  story.pass(1h);
  CHECK_FALSE(story.verdict());
}

TEST_CASE("a rank whose device works before the first collective is at work", "[stages]") {
  Story story = testing::four_with_a_group();
  for (int rank = 0; rank < 4; ++rank) {
    story.entered(rank, Stage::collective, 4);
    story.does(rank, Activity::idling);
  }
  story.tell(StageLeft{Rank{1}, Story::process(1), Stage::collective, /*device_works=*/true});
  story.pass(29min);
  CHECK_FALSE(story.verdict());
  story.entered(1, Stage::collective, 4);
  story.pass(179s);
  CHECK_FALSE(story.verdict());
  story.pass(2s);
  REQUIRE(story.verdict());
  CHECK(story.suspects().empty());
}

TEST_CASE("a rank whose hook has gone silent is known from /proc again", "[stages]") {
  Story story;
  everybody_imports(story, 2);
  story.tell(RankSilent{Rank{1}, Story::process(1)});
  CHECK(story.stages().ranks().at(Rank{1}).blind());
  CHECK_FALSE(story.stages().all_heard());
  story.tell(
      StageEntered{Rank{1}, Story::process(1), Stage::group, {}, std::nullopt, Source::proc});
  CHECK(story.stages().ranks().at(Rank{1}).waits_in(Stage::group));
}

TEST_CASE("the topmost process with a rank's identity is the rank", "[observer]") {
  const RankIdentity rank0{Rank{0}, 2, 0};
  const RankIdentity node0{Rank{0}, 1, std::nullopt};  // the launcher's own: a number of nodes
  const std::vector<ProcessOfRank> line{
      {{4, 1}, rank0}, {{3, 1}, rank0}, {{2, 1}, node0}, {{1, 1}, std::nullopt}};
  CHECK(topmost_of_rank(line) == ProcessId{3, 1});
  CHECK(topmost_of_rank(std::span(line).subspan(1)) == ProcessId{3, 1});
  CHECK_FALSE(topmost_of_rank(std::span(line).subspan(3)));
  CHECK_FALSE(topmost_of_rank({}));
}

TEST_CASE("a rank's identity is RANK, or Lightning's local rank on the first node", "[observer]") {
  CHECK(identity_in({{"RANK", "3"}, {"WORLD_SIZE", "4"}, {"LOCAL_RANK", "1"}}) ==
        RankIdentity{Rank{3}, 4, 1});
  CHECK(identity_in({{"LOCAL_RANK", "1"}, {"WORLD_SIZE", "4"}, {"NODE_RANK", "0"}})->rank ==
        Rank{1});
  CHECK_FALSE(identity_in({{"LOCAL_RANK", "1"}, {"WORLD_SIZE", "4"}, {"NODE_RANK", "1"}}));
  CHECK_FALSE(identity_in({{"LOCAL_RANK", "1"}}));
}

}  // namespace
}  // namespace safelaunch::watch
