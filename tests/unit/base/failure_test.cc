#include "safelaunch/base/failure.h"

#include "catch.h"

using namespace safelaunch;

namespace {

constexpr auto kLast = static_cast<int>(FailureKind::given_up);

}  // namespace

TEST_CASE("every kind of failure has a name of its own, by which it is read back", "[failure]") {
  for (int i = 0; i <= kLast; ++i) {
    const auto kind = static_cast<FailureKind>(i);
    INFO(name(kind));
    CHECK(failure_kind_named(name(kind)) == kind);
  }
  CHECK_FALSE(failure_kind_named("of another version"));
}

TEST_CASE("a certainty is read back by its name, and is a guess where nobody knows the word",
          "[failure]") {
  for (const Certainty one : {Certainty::guess, Certainty::matched, Certainty::confirmed})
    CHECK(certainty_named(name(one)) == one);
  CHECK(certainty_named("") == Certainty::guess);
}

TEST_CASE("a failure is stuck or a death, and what is a hang is stuck", "[failure]") {
  for (int i = 0; i <= kLast; ++i) {
    const auto kind = static_cast<FailureKind>(i);
    INFO(name(kind));
    CHECK_FALSE((is_stuck(kind) && is_death(kind)));
    if (is_hang(kind)) CHECK(is_stuck(kind));
  }
  CHECK(is_death(FailureKind::raised));
  CHECK_FALSE(is_hang(FailureKind::stalled));  // it trained
  CHECK(is_stuck(FailureKind::stalled));
}

TEST_CASE("a death is told with the stage before it and the exception", "[failure]") {
  Failure failure{.kind = FailureKind::raised, .stage = Stage::group};
  failure.missing = {{.rank = Rank{2}, .doing = "exit status 1"}};
  failure.raised = {{Rank{2}, {}, "KeyError", "'label'", ""}};
  CHECK(describe(failure) == "rank 2 ended before group: exit status 1, KeyError: 'label'");
  failure.kind = FailureKind::rank_died;
  CHECK(describe(failure) == "rank 2 ended before group: exit status 1");
  failure.missing.clear();
  CHECK(describe(failure) == "a rank ended before group");
}

TEST_CASE("those that contradict each other are told by what proves it", "[failure]") {
  CHECK(describe({.kind = FailureKind::duplicate_rank, .proof = "rank 1 was given twice"}) ==
        "rank 1 was given twice");
}

namespace {

MissingRank failure_missing(int rank, Activity activity, std::string doing = "") {
  return {.rank = Rank{rank}, .activity = activity, .doing = std::move(doing)};
}

Failure failure_hang() {
  Failure failure{.kind = FailureKind::hung, .stage = Stage::group};
  failure.missing = {failure_missing(2, Activity::idling, "sleeping in hrtimer_nanosleep")};
  failure.waiting = {Rank{0}, Rank{1}, Rank{3}};
  failure.waited = std::chrono::milliseconds(180'400);
  return failure;
}

}  // namespace

TEST_CASE("a hang is told with the missing, what they do, who waits and how long", "[failure]") {
  CHECK(describe(failure_hang()) ==
        "hung in group: rank 2 is missing (idling: sleeping in hrtimer_nanosleep) while ranks 0 1 "
        "3 have waited for 180s");
}

TEST_CASE("one rank that waits has waited", "[failure]") {
  Failure failure = failure_hang();
  failure.waiting = {Rank{0}};
  CHECK(describe(failure).ends_with(" while rank 0 has waited for 180s"));
}

TEST_CASE("a missing rank of which nothing more is known is told by its activity", "[failure]") {
  Failure failure = failure_hang();
  failure.missing = {failure_missing(2, Activity::dead), failure_missing(4, Activity::unseen, "x")};
  failure.missing[1].inside = true;
  failure.waiting.clear();
  CHECK(describe(failure) ==
        "hung in group: rank 2 is missing (dead), rank 4 does not come through (unseen: x)");
}

TEST_CASE("a hang in which nobody is missing says that all wait", "[failure]") {
  Failure failure = failure_hang();
  failure.missing.clear();
  failure.stage.reset();
  CHECK(describe(failure) == "hung in spawned: ranks 0 1 3 all wait, and none comes through");
}

TEST_CASE("NCCL's word stands at the end of each kind of hang", "[failure]") {
  Failure failure = failure_hang();
  failure.nccl = "rank 2 of 4 never came to NCCL";
  const std::string end = "; rank 2 of 4 never came to NCCL";
  CHECK(describe(failure).ends_with("have waited for 180s" + end));
  failure.waiting.clear();
  CHECK(describe(failure).ends_with(")" + end));
  failure.missing.clear();
  CHECK(describe(failure).ends_with("none comes through" + end));
}

TEST_CASE("an exception of which only one half is known is told by that half", "[failure]") {
  Failure failure{.kind = FailureKind::raised, .stage = Stage::group};
  failure.missing = {{.rank = Rank{2}, .doing = "exit status 1"}};
  failure.raised = {{Rank{2}, {}, "KeyError", "", ""}};
  CHECK(describe(failure).ends_with("exit status 1, KeyError"));
  failure.raised = {{Rank{2}, {}, "", "no such file", ""}};
  CHECK(describe(failure).ends_with("exit status 1, no such file"));
  failure.raised.clear();
  CHECK(describe(failure) == "rank 2 ended before group: exit status 1");
}

TEST_CASE("kinds without a sentence of their own are told by their name or their proof",
          "[failure]") {
  for (const FailureKind kind :
       {FailureKind::failed, FailureKind::interrupted, FailureKind::given_up})
    CHECK(describe({.kind = kind, .proof = "unused"}) == name(kind));
  for (const FailureKind kind : {FailureKind::world_size_mismatch, FailureKind::stood_still,
                                 FailureKind::driver_silent, FailureKind::stalled})
    CHECK(describe({.kind = kind, .proof = "the proof"}) == "the proof");
}

TEST_CASE("the numbers of missing ranks keep their order", "[failure]") {
  CHECK(ranks_of({failure_missing(3, Activity::dead), failure_missing(1, Activity::dead)}) ==
        std::vector<Rank>{{3}, {1}});
}
