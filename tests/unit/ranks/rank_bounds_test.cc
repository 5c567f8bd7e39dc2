#include "safelaunch/ranks/rank_machine.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::ranks;

namespace {

RankRaised raised(int rank, const std::string& text) {
  RankRaised here;
  here.rank = Rank{rank};
  here.message = text;
  return here;
}

}  // namespace

TEST_CASE("of thousands of exceptions the first and the last of each rank are kept",
          "[rank_bounds]") {
  std::vector<RankRaised> all;
  for (int i = 0; i < 10'000; ++i)
    for (const int rank : {0, 1}) note_raised(all, raised(rank, std::to_string(i)));
  std::vector<std::string> kept;
  for (const RankRaised& one : all)
    kept.push_back(std::to_string(one.rank.value) + ": " + one.message);
  CHECK(kept == std::vector<std::string>{"0: 0", "1: 0", "0: 9999", "1: 9999"});
}

TEST_CASE("a process may speak as several ranks, and not as ever more", "[rank_bounds]") {
  NamedRanks named;
  const ProcessId process{71, 1};
  int accepted = 0;
  for (int rank = 0; rank < 10'000; ++rank)
    if (named.accept(process, Rank{rank})) ++accepted;
  CHECK(accepted == 16);
  CHECK(named.accept(process, Rank{3}));  // those that it has named count on
  CHECK(named.accept({72, 1}, Rank{9'999}));
}
