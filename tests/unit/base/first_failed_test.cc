#include "safelaunch/base/first_failed.h"

#include <csignal>

#include "catch.h"

using namespace safelaunch;

namespace {

RankExited ended(int rank, std::optional<ExitStatus> status) {
  return {Rank{rank}, {}, status};
}

std::optional<Rank> first_of(const std::vector<RankExited>& exits,
                             const std::set<Rank>& lost_a_peer = {}) {
  return first_failed({.ended = ends_of(exits, lost_a_peer)});
}

}  // namespace

TEST_CASE("where nobody tells of a failure no rank is the first", "[first_failed]") {
  CHECK_FALSE(first_failed({}));
}

TEST_CASE("what tells of the first rank counts in this order", "[first_failed]") {
  FirstSigns signs{.shows_cause = Rank{1},
                   .raised_cause = Rank{2},
                   .ended = {{Rank{3}, true, false}},
                   .told = Rank{4},
                   .raised = Rank{5}};
  CHECK(first_failed(signs) == Rank{1});
  signs.shows_cause.reset();
  CHECK(first_failed(signs) == Rank{2});
  signs.raised_cause.reset();
  CHECK(first_failed(signs) == Rank{3});
  signs.ended.clear();
  CHECK(first_failed(signs) == Rank{4});
  signs.told.reset();
  CHECK(first_failed(signs) == Rank{5});
}

TEST_CASE("the first rank that ended badly is the first, not one that ended in order",
          "[first_failed]") {
  CHECK(first_of({ended(0, Exited{0}), ended(2, Exited{3}), ended(1, Exited{1})}) == Rank{2});
}

TEST_CASE("a rank that ended because it lost a peer is not the first", "[first_failed]") {
  CHECK(first_of({ended(0, Exited{1}), ended(1, Signaled{SIGSEGV})}, {Rank{0}}) == Rank{1});
}

TEST_CASE("a rank that the launcher ended behind another is not the first", "[first_failed]") {
  const std::vector<RankExited> timed_out{ended(0, Exited{1}), ended(1, Signaled{SIGTERM})};
  CHECK(first_of(timed_out, {Rank{0}}) == Rank{0});  // all followed: the first that failed
}

TEST_CASE("a rank that somebody ended with SIGTERM before all others is the first",
          "[first_failed]") {
  CHECK(first_of({ended(1, Signaled{SIGTERM}), ended(0, Exited{1})}) == Rank{1});
}

TEST_CASE("where the kernel tells no status the first to end is the first", "[first_failed]") {
  CHECK(first_of({ended(3, std::nullopt), ended(0, std::nullopt)}) == Rank{3});
  CHECK(first_of({ended(3, std::nullopt), ended(0, Exited{1})}) == Rank{0});
}

TEST_CASE("a rank that only the launcher saw failed before those that it ended for it",
          "[first_failed]") {
  CHECK(failed_unseen(Rank{2}, {}));
  CHECK(failed_unseen(Rank{2}, {ended(2, std::nullopt)}));
  CHECK(failed_unseen(Rank{2}, {ended(0, Signaled{SIGTERM})}));
  CHECK_FALSE(failed_unseen(Rank{2}, {ended(2, Signaled{SIGTERM})}));
  CHECK_FALSE(failed_unseen(Rank{2}, {ended(0, Exited{7})}));
}

TEST_CASE("ends are marked by what came before them", "[first_failed]") {
  const auto ends = ends_of({ended(1, Signaled{SIGTERM}), ended(2, Signaled{SIGTERM}),
                             ended(3, Exited{0}), ended(4, std::nullopt)},
                            {Rank{3}});
  std::vector<std::pair<bool, bool>> marks;
  for (const RankEnd& one : ends) marks.emplace_back(one.failed, one.followed);
  CHECK(marks == std::vector<std::pair<bool, bool>>{
                     {true, false}, {true, true}, {false, true}, {false, false}});
  CHECK(ends_of({}, {Rank{1}}).empty());
}

TEST_CASE("where all ended in order the first to end is named", "[first_failed]") {
  CHECK(first_of({ended(3, Exited{0}), ended(1, Exited{0})}) == Rank{3});
}
