#include "catch.h"
#include "safelaunch/ranks/rank_questions.h"

using namespace safelaunch;
using namespace safelaunch::ranks;

namespace {

/// The answer of one rank, which stands there.
RankAnswers stands(int rank, const std::string& where) {
  RankAnswers answers;
  answers.stacks[Rank{rank}] = {where, where + "\n"};
  return answers;
}

RankAnswers calls(int rank, const std::string& operation) {
  RankAnswers answers;
  answers.collectives[Rank{rank}].last = {
      {"0", 1, operation, watch::CollectiveSeen::State::enqueued}};
  return answers;
}

/// "rank: place", each.
std::string places(const AnswersOfNodes& round) {
  std::string text;
  for (const auto& [rank, stack] : round.answers().stacks)
    text += std::to_string(rank.value) + ": " + stack.where + "\n";
  return text;
}

}  // namespace

TEST_CASE("where no other node is heard our own ranks have the last word", "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({}, TimePoint{});
  CHECK(round.take_own(stands(0, "a.py:1")));
  CHECK(places(round) == "0: a.py:1\n");
}

TEST_CASE("the answer of every node is waited for, in whatever order they come",
          "[answers_of_nodes]") {
  AnswersOfNodes round;
  SECTION("our own first") {
    round.begin({1, 2}, TimePoint{});
    CHECK_FALSE(round.take_own(stands(0, "a.py:1")));
    CHECK_FALSE(round.take(1, "gpu-1", stands(4, "b.py:2")));
    CHECK(round.take(2, "gpu-2", stands(8, "c.py:3")));
  }
  SECTION("our own last") {
    round.begin({1, 2}, TimePoint{});
    CHECK_FALSE(round.take(2, "gpu-2", stands(8, "c.py:3")));
    CHECK_FALSE(round.take(1, "gpu-1", stands(4, "b.py:2")));
    CHECK(round.take_own(stands(0, "a.py:1")));
  }
  CHECK(places(round) == "0: a.py:1\n4: b.py:2\n8: c.py:3\n");
}

TEST_CASE("a node that was not asked, or has answered, says nothing more", "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({1}, TimePoint{});
  CHECK_FALSE(round.take(2, "gpu-2", stands(8, "c.py:3")));
  CHECK_FALSE(round.take(1, "gpu-1", stands(4, "b.py:2")));
  CHECK_FALSE(round.take(1, "gpu-1", stands(4, "elsewhere")));
  CHECK(round.take_own({}));
  CHECK_FALSE(round.take_own(stands(0, "late")));
  CHECK(places(round) == "4: b.py:2\n");
}

TEST_CASE("before the first question nobody's answer counts", "[answers_of_nodes]") {
  AnswersOfNodes round;
  CHECK_FALSE(round.take_own(stands(0, "a.py:1")));
  CHECK_FALSE(round.take(1, "gpu-1", stands(4, "b.py:2")));
  CHECK(places(round).empty());
}

TEST_CASE("who has not answered in time is waited for no longer", "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({1}, TimePoint{});
  CHECK_FALSE(round.take_own(stands(0, "a.py:1")));
  round.close();
  CHECK_FALSE(round.take(1, "gpu-1", stands(4, "late")));
  CHECK(places(round) == "0: a.py:1\n");
}

TEST_CASE("a rank is shown where it stands now, not where it stood when it was asked before",
          "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({}, TimePoint{});
  RankAnswers both = stands(0, "a.py:1");
  both.stacks[Rank{1}] = {"b.py:2", ""};
  (void)round.take_own(both);
  round.begin({}, TimePoint{});
  RankAnswers alone = stands(0, "z.py:9");
  alone.silent[Rank{1}] = Activity::working;  // it holds the GIL by now
  CHECK(round.take_own(alone));
  round.close();
  CHECK(places(round) == "0: z.py:9\n");
}

TEST_CASE("a question that comes when ranks have just ended keeps what they had answered before",
          "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({}, TimePoint{});
  RankAnswers both = calls(1, "reduce");
  both.collectives[Rank{1}].told = true;
  both.stacks[Rank{0}] = {"a.py:1", ""};
  both.stacks[Rank{1}] = {"b.py:2", "", watch::ExceptionTold{}};
  (void)round.take_own(both);
  round.close();
  const bool soon = GENERATE(true, false);
  round.begin({}, TimePoint{} + std::chrono::seconds(soon ? 4 : 40));
  RankAnswers first_calls;  // of the ended rank, too
  first_calls.collectives[Rank{1}].first = watch::FirstCall{};
  first_calls.stacks = stands(0, "z.py:9").stacks;
  CHECK(round.take_own(first_calls));
  round.close();
  CHECK(places(round) == (soon ? "0: z.py:9\n1: b.py:2\n" : "0: z.py:9\n"));
  CHECK(round.answers().collectives.at(Rank{1}).last.size() == (soon ? 1 : 0));
  CHECK(held_back(round.answers()).empty());
}

TEST_CASE("until somebody answers again the former answers are known", "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({}, TimePoint{});
  (void)round.take_own(stands(0, "a.py:1"));
  round.begin({1}, TimePoint{});
  CHECK(places(round) == "0: a.py:1\n");
  CHECK_FALSE(round.take(1, "gpu-1", stands(4, "b.py:2")));
  CHECK(places(round) == "4: b.py:2\n");
}

TEST_CASE("a second question does not take the answers of the first for its own",
          "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({1}, TimePoint{});
  const int first = round.question();
  (void)round.take_own(stands(0, "a.py:1"));
  round.begin({1}, TimePoint{});
  CHECK(round.question() != first);
  CHECK_FALSE(round.take(1, "gpu-1", stands(4, "b.py:2")));  // our own have not answered this one
  CHECK(round.take_own(stands(0, "c.py:3")));
}

TEST_CASE("of a rank that another node claims, too, our own answer counts", "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({1}, TimePoint{});
  (void)round.take(1, "gpu-1", stands(0, "theirs"));
  (void)round.take_own(stands(0, "ours"));
  CHECK(places(round) == "0: ours\n");
  round.begin({1}, TimePoint{});
  (void)round.take_own(stands(0, "ours"));
  (void)round.take(1, "gpu-1", stands(0, "theirs"));
  CHECK(places(round) == "0: ours\n");
}

TEST_CASE("the collectives are those of the ranks of all nodes, at the last question",
          "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({1}, TimePoint{});
  (void)round.take(1, "gpu-1", calls(4, "all_gather"));
  (void)round.take_own(calls(0, "all_reduce"));
  CHECK(round.answers().collectives.size() == 2);
  CHECK(round.answers().collectives.at(Rank{0}).last.front().operation == "all_reduce");
  round.begin({}, TimePoint{});
  (void)round.take_own({});
  CHECK(round.answers().collectives.empty());
}
