#include "safelaunch/ranks/rank_questions.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::ranks;

namespace {

constexpr ProcessId kProcess{71, 7};
const AskedRank kRank3{Rank{3}, kProcess};

}  // namespace

TEST_CASE("a round is over when every question has its answer", "[rank_questions]") {
  RankQuestions round;
  CHECK(round.all_answered());
  round.open(kRank3, watch::HookQuestion::stack);
  round.open(kRank3, watch::HookQuestion::counters);
  CHECK(round.answered(kProcess, watch::StackAnswer{}) == Rank{3});
  CHECK_FALSE(round.all_answered());
  CHECK(round.answered(kProcess, watch::CountersAnswer{}) == Rank{3});
  CHECK(round.all_answered());
}

TEST_CASE("an answer that nobody has asked for says nothing", "[rank_questions]") {
  RankQuestions round;
  round.open(kRank3, watch::HookQuestion::stack);
  CHECK_FALSE(round.answered({72, 7}, watch::StackAnswer{}));
  CHECK_FALSE(round.answered(kProcess, watch::CollectivesAnswer{}));
  CHECK(round.answered(kProcess, watch::StackAnswer{}));
  CHECK_FALSE(round.answered(kProcess, watch::StackAnswer{}));  // twice
  CHECK(round.answers().collectives.empty());
}

TEST_CASE("a stack is kept with all its threads, a line a frame", "[rank_questions]") {
  RankQuestions round;
  round.open(kRank3, watch::HookQuestion::stack);
  watch::StackAnswer answer;
  answer.threads = {{.name = "MainThread", .frames = {"train.py:40 main"}}};
  (void)round.answered(kProcess, answer);
  CHECK(round.answers().stacks.at(Rank{3}).frames ==
        "thread MainThread (innermost last)\n  train.py:40 main\n");
  CHECK(round.answers().stacks.at(Rank{3}).where.find("train.py:40") != std::string::npos);
}

TEST_CASE("of the store's operations those count in which somebody waits", "[rank_questions]") {
  RankQuestions round;
  round.open(kRank3, watch::HookQuestion::counters);
  watch::CountersAnswer answer;
  answer.groups["default"].enqueued = 4;
  answer.waits = {{"store_get", 1}, {"store_wait", 0}};
  (void)round.answered(kProcess, answer);
  const watch::RankCollectives& seen = round.answers().collectives.at(Rank{3});
  CHECK(seen.waits == std::vector<std::string>{"store_get"});
  CHECK(seen.groups.at("default").enqueued == 4);
  CHECK_FALSE(seen.told);
}

TEST_CASE("only a process that runs is worth asking", "[rank_questions]") {
  std::map<Rank, watch::RankState> ranks;
  const TimePoint now{};
  for (const int rank : {0, 1, 2})
    ranks[Rank{rank}].claim({100 + rank, 7}, watch::RankEvidence::hook);
  ranks[Rank{1}].sample(Activity::stopped, "", now, Duration(1000));
  ranks[Rank{2}].exit({102, 7}, Exited{0}, now);
  ranks[Rank{3}];  // nobody has said to be it
  CHECK(who_can_answer(ranks, now) == std::vector<AskedRank>{{Rank{0}, {100, 7}}});
}

TEST_CASE("a rank in the middle of an import is not asked before a signal", "[rank_questions]") {
  std::map<Rank, watch::RankState> ranks;
  const TimePoint now{};
  for (const int rank : {0, 1}) ranks[Rank{rank}].claim({100 + rank, 7}, watch::RankEvidence::hook);
  ranks[Rank{1}].reach(Stage::imported, now);
  CHECK(who_can_answer(ranks, now).size() == 2);
  CHECK(who_can_answer(ranks, now, Whom::imported) == std::vector<AskedRank>{{Rank{1}, {101, 7}}});
}
