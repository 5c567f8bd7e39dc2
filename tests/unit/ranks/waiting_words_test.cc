#include "safelaunch/ranks/rank_questions.h"

#include "catch.h"
#include "safelaunch/base/format.h"

using namespace safelaunch;

using namespace safelaunch::ranks;

namespace {

Failure waits_for(std::vector<MissingRank> missing) {
  Failure verdict{.kind = FailureKind::hung, .stage = Stage::group, .waiting = {Rank{0}, Rank{2}}};
  verdict.waited = std::chrono::milliseconds(12'300);
  verdict.missing = std::move(missing);
  return verdict;
}

MissingRank idle(int rank) {
  return {.rank = Rank{rank}, .activity = Activity::idling, .doing = "sleeping in nanosleep"};
}

}  // namespace

TEST_CASE("who waits, for whom, since when and where that is, stands in one line",
          "[waiting_words]") {
  RankAnswers answers;
  answers.stacks[Rank{1}].where = "train.py:50 f";
  CHECK(who_waits_for_whom(waits_for({idle(1)}), answers) ==
        "ranks 0 2 have waited 12s in group for rank 1 (idling: sleeping in nanosleep), in "
        "train.py:50 f");
  CHECK(who_waits_for_whom(waits_for({idle(1)}), {}) ==
        "ranks 0 2 have waited 12s in group for rank 1 (idling: sleeping in nanosleep)");
}

TEST_CASE("many that are awaited are counted, and where all wait that is said", "[waiting_words]") {
  CHECK(who_waits_for_whom(waits_for({idle(1), idle(3), idle(4), idle(5), idle(6)}), {})
            .ends_with("; and 2 more"));
  CHECK(who_waits_for_whom(waits_for({}), {}) == "ranks 0 2 all wait in group");
}

TEST_CASE("one that waits has waited, and where nobody waits the stage lets none through",
          "[waiting_words]") {
  Failure one = waits_for({idle(1)});
  one.waiting = {Rank{0}};
  CHECK(who_waits_for_whom(one, {}) ==
        "rank 0 has waited 12s in group for rank 1 (idling: sleeping in nanosleep)");
  one.waiting.clear();
  CHECK(who_waits_for_whom(one, {}) ==
        "no rank gets through group: rank 1 (idling: sleeping in nanosleep)");
}

TEST_CASE("three that are awaited are all named, and a stage that is not known is the first",
          "[waiting_words]") {
  Failure three = waits_for({idle(1), idle(3), idle(4)});
  three.stage.reset();
  three.missing[1].doing.clear();
  CHECK(who_waits_for_whom(three, {}) ==
        "ranks 0 2 have waited 12s in spawned for rank 1 (idling: sleeping in nanosleep); rank 3 "
        "(idling); rank 4 (idling: sleeping in nanosleep)");
}

TEST_CASE("the places of ranks are told with the loneliest first, and few of many",
          "[waiting_words]") {
  RankAnswers answers;
  CHECK(where_ranks_stand(answers).empty());
  for (const int rank : {0, 2, 3}) answers.stacks[Rank{rank}].where = "train.py:31 f → all_reduce";
  answers.stacks[Rank{1}].where = "train.py:48 load";
  answers.stacks[Rank{4}].frames = "none of the user's code";
  CHECK(where_ranks_stand(answers) ==
        "rank 1 in train.py:48 load; ranks 0 2 3 in train.py:31 f → all_reduce");
  for (const int rank : {5, 6, 7, 8})
    answers.stacks[Rank{rank}].where = fmt::format("train.py:{} g", rank);
  CHECK(where_ranks_stand(answers) ==
        "rank 1 in train.py:48 load; rank 5 in train.py:5 g; rank 6 in train.py:6 g; others in 3 "
        "more places");
}

TEST_CASE("the ranks that did not answer are told beside those that did", "[waiting_words]") {
  RankAnswers answers;
  answers.silent = {{Rank{0}, Activity::stopped}, {Rank{2}, Activity::working}};
  CHECK(where_ranks_stand(answers).empty());  // no hook anywhere
  answers.stacks[Rank{1}].where = "train.py:31 f";
  CHECK(where_ranks_stand(answers) ==
        "rank 1 in train.py:31 f; rank 0, which did not answer (stopped); rank 2, which did not "
        "answer (working)");
}

TEST_CASE("a rank that has just answered is not called unseen", "[waiting_words]") {
  MissingRank young = idle(1);
  young.activity = Activity::unseen;
  young.doing.clear();
  RankAnswers answers;
  CHECK(who_waits_for_whom(waits_for({young}), answers).ends_with(" for rank 1 (unseen)"));
  answers.stacks[Rank{1}].where = "train.py:50 f";
  CHECK(who_waits_for_whom(waits_for({young}), answers).ends_with(" for rank 1, in train.py:50 f"));
}
