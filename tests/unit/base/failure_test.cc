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
}

TEST_CASE("those that contradict each other are told by what proves it", "[failure]") {
  CHECK(describe({.kind = FailureKind::duplicate_rank, .proof = "rank 1 was given twice"}) ==
        "rank 1 was given twice");
}
