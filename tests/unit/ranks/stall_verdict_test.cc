#include "safelaunch/ranks/rank_questions.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::ranks;
using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

namespace {

watch::RankCollectives called(const std::string& operation, watch::CollectiveSeen::State state) {
  watch::RankCollectives rank;
  rank.told = true;
  rank.last = {{"0", 1, operation, state}};
  rank.members["0"] = {Rank{0}, Rank{1}};
  return rank;
}

watch::RankCollectives called_nothing() {
  watch::RankCollectives rank;
  rank.told = true;
  rank.members["0"] = {Rank{0}, Rank{1}};
  return rank;
}

const watch::StallReport kSilent{600s, {Rank{1}}, {{Rank{0}, {2, 1}}, {Rank{1}, {1, 1}}}};

}  // namespace

TEST_CASE("without answers the counters say who is behind a standstill", "[stall_verdict]") {
  const Failure verdict = verdict_of(kSilent, {});
  CHECK(verdict.kind == FailureKind::stalled);
  CHECK(verdict.stage == Stage::collective);
  CHECK(verdict.waited == 600s);
  REQUIRE(verdict.missing.size() == 1);
  CHECK(verdict.missing.front().rank == Rank{1});
  CHECK_FALSE(verdict.missing.front().known);
}

TEST_CASE("where the ranks answer, what they have called beats their counters", "[stall_verdict]") {
  RankAnswers answers;
  answers.collectives[Rank{0}] = called_nothing();
  answers.collectives[Rank{1}] = called("all_reduce", watch::CollectiveSeen::State::enqueued);
  const Failure verdict = verdict_of(kSilent, answers);
  CHECK(ranks_of(verdict.missing) == std::vector{Rank{0}});
  CHECK(verdict.waiting == std::vector{Rank{1}});
  CHECK_THAT(verdict.proof, ContainsSubstring("rank 0 never called all_reduce"));
  CHECK_THAT(verdict.proof, !ContainsSubstring("is behind"));
}

TEST_CASE("a rank of another node that is behind a standstill is named with its host",
          "[stall_verdict]") {
  RankAnswers answers;
  answers.stacks[Rank{1}] = {"train.py:5 loads", "loads (train.py:5)\n"};
  answers.hosts[Rank{1}] = "gpu-17";
  const Failure verdict = verdict_of(kSilent, answers);
  CHECK_THAT(verdict.proof, ContainsSubstring("; rank 1 is in train.py:5 loads, on gpu-17"));
  CHECK(verdict.missing.front().doing == "on gpu-17");
}

TEST_CASE("who is behind and waits is told with the place of the rank that is ahead",
          "[stall_verdict]") {
  watch::StallReport report{600s, {Rank{0}}, {{Rank{0}, {15, 14}}, {Rank{1}, {16, 15}}}};
  RankAnswers answers;
  answers.stacks[Rank{0}].where = "train.py:6 main → backward";
  answers.stacks[Rank{1}].where = "train.py:13 main → barrier";
  CHECK_THAT(verdict_of(report, answers).proof, !ContainsSubstring("barrier"));
  report.waiting = {Rank{0}, Rank{1}};
  CHECK_THAT(verdict_of(report, answers).proof,
             ContainsSubstring("rank 1 is in train.py:13 main → barrier"));
}

TEST_CASE("a standstill in which all ranks wait in one collective names it", "[stall_verdict]") {
  RankAnswers answers;
  for (const Rank rank : {Rank{0}, Rank{1}})
    answers.collectives[rank] = called("all_reduce", watch::CollectiveSeen::State::started);
  const Failure verdict = verdict_of(kSilent, answers);
  CHECK_THAT(verdict.proof,
             ContainsSubstring("; ranks 0 1 wait in all_reduce, collective 1 of group 0"));
}

TEST_CASE("of ranks that stall alike nobody is missing, and none has waited for another",
          "[stall_verdict]") {
  watch::StallReport equal = kSilent;
  equal.lagging.clear();
  const Failure verdict = verdict_of(equal, {});
  CHECK(verdict.missing.empty());
  CHECK(verdict.waited == Duration::zero());
}

TEST_CASE("where ranks wait to make a group, their line is told beside that of the others",
          "[stall_verdict]") {
  watch::StallReport report = kSilent;
  report.meeting = {Rank{0}};
  RankAnswers answers;
  answers.stacks[Rank{0}].where = "train.py:5 main → new_group";
  answers.stacks[Rank{1}].where = "train.py:6 main → all_reduce";
  CHECK_THAT(
      verdict_of(report, answers).proof,
      ContainsSubstring("rank 0 waits for rank 1 to make a group; rank 0 is in train.py:5 main → "
                        "new_group; rank 1 is in train.py:6 main → all_reduce"));
}

TEST_CASE("of the ranks behind three are shown in their code", "[stall_verdict]") {
  watch::StallReport report{600s, {}, {}};
  RankAnswers answers;
  for (int rank = 0; rank < 5; ++rank) {
    report.lagging.push_back(Rank{rank});
    report.counters[Rank{rank}] = {1, 1};
    answers.stacks[Rank{rank}].where = "train.py:" + std::to_string(rank) + " save";
  }
  answers.stacks[Rank{0}].where.clear();  // it stands in no code of the user's
  const std::string proof = verdict_of(report, answers).proof;
  CHECK_THAT(proof, ContainsSubstring("; rank 3 is in train.py:3 save"));
  CHECK_THAT(proof, !ContainsSubstring("rank 0 is in"));
  CHECK_THAT(proof, !ContainsSubstring("rank 4 is in"));
}

TEST_CASE("a rank that is stopped, or does not answer, is told as that", "[stall_verdict]") {
  watch::StallReport report = kSilent;
  RankAnswers answers;
  answers.silent[Rank{1}] = Activity::unseen;
  CHECK_THAT(verdict_of(report, answers).proof, ContainsSubstring("; rank 1 does not answer"));
  report.activities[Rank{1}] = Activity::stopped;
  CHECK_THAT(verdict_of(report, answers).proof,
             ContainsSubstring("; rank 1 is stopped, by a signal"));
  CHECK(verdict_of(report, answers).missing.front().activity == Activity::stopped);
}

TEST_CASE("where nobody waits, a standstill tells where all stand, alike ranks once",
          "[stall_verdict]") {
  RankAnswers answers;
  for (const int rank : {0, 1, 2}) answers.stacks[Rank{rank}].where = "train.py:5 load";
  CHECK_THAT(verdict_of({600s, {}, {}}, answers).proof,
             ContainsSubstring("; ranks 0-2 are in train.py:5 load"));
}
