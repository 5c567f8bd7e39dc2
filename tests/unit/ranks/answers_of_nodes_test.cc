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
  round.begin({});
  CHECK(round.take_own(stands(0, "a.py:1")));
  CHECK(places(round) == "0: a.py:1\n");
}

TEST_CASE("the answer of every node is waited for, in whatever order they come",
          "[answers_of_nodes]") {
  AnswersOfNodes round;
  SECTION("our own first") {
    round.begin({1, 2});
    CHECK_FALSE(round.take_own(stands(0, "a.py:1")));
    CHECK_FALSE(round.take(1, "gpu-1", stands(4, "b.py:2")));
    CHECK(round.take(2, "gpu-2", stands(8, "c.py:3")));
  }
  SECTION("our own last") {
    round.begin({1, 2});
    CHECK_FALSE(round.take(2, "gpu-2", stands(8, "c.py:3")));
    CHECK_FALSE(round.take(1, "gpu-1", stands(4, "b.py:2")));
    CHECK(round.take_own(stands(0, "a.py:1")));
  }
  CHECK(places(round) == "0: a.py:1\n4: b.py:2\n8: c.py:3\n");
}

TEST_CASE("a node that was not asked, or has answered, says nothing more", "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({1});
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
  round.begin({1});
  CHECK_FALSE(round.take_own(stands(0, "a.py:1")));
  round.close();
  CHECK_FALSE(round.take(1, "gpu-1", stands(4, "late")));
  CHECK(places(round) == "0: a.py:1\n");
}

TEST_CASE("a rank is shown where it stands now, not where it stood when it was asked before",
          "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({});
  RankAnswers both = stands(0, "a.py:1");
  both.stacks[Rank{1}] = {"b.py:2", ""};
  (void)round.take_own(both);
  round.begin({});
  CHECK(round.take_own(stands(0, "z.py:9")));
  CHECK(places(round) == "0: z.py:9\n");  // rank 1 holds the GIL by now, and says nothing
}

TEST_CASE("until somebody answers again the former answers are known", "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({});
  (void)round.take_own(stands(0, "a.py:1"));
  round.begin({1});
  CHECK(places(round) == "0: a.py:1\n");
  CHECK_FALSE(round.take(1, "gpu-1", stands(4, "b.py:2")));
  CHECK(places(round) == "4: b.py:2\n");
}

TEST_CASE("a second question does not take the answers of the first for its own",
          "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({1});
  const int first = round.question();
  (void)round.take_own(stands(0, "a.py:1"));
  round.begin({1});
  CHECK(round.question() != first);
  CHECK_FALSE(round.take(1, "gpu-1", stands(4, "b.py:2")));  // our own have not answered this one
  CHECK(round.take_own(stands(0, "c.py:3")));
}

TEST_CASE("of a rank that another node claims, too, our own answer counts", "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({1});
  (void)round.take(1, "gpu-1", stands(0, "theirs"));
  (void)round.take_own(stands(0, "ours"));
  CHECK(places(round) == "0: ours\n");
  round.begin({1});
  (void)round.take_own(stands(0, "ours"));
  (void)round.take(1, "gpu-1", stands(0, "theirs"));
  CHECK(places(round) == "0: ours\n");
}

TEST_CASE("the collectives are those of the ranks of all nodes, at the last question",
          "[answers_of_nodes]") {
  AnswersOfNodes round;
  round.begin({1});
  (void)round.take(1, "gpu-1", calls(4, "all_gather"));
  (void)round.take_own(calls(0, "all_reduce"));
  CHECK(round.answers().collectives.size() == 2);
  CHECK(round.answers().collectives.at(Rank{0}).last.front().operation == "all_reduce");
  round.begin({});
  (void)round.take_own({});
  CHECK(round.answers().collectives.empty());
}
