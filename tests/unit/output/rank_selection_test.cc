#include "safelaunch/output/rank_selection.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::output;

TEST_CASE("without a choice every rank is shown", "[rank_selection]") {
  CHECK(RankSelection().contains(Rank{0}));
  CHECK(RankSelection::parse("all").value().contains(Rank{1023}));
}

TEST_CASE("ranks are chosen by number and by range", "[rank_selection]") {
  const RankSelection chosen = RankSelection::parse("0,3,8-10").value();
  for (const int rank : {0, 3, 8, 9, 10}) CHECK(chosen.contains(Rank{rank}));
  for (const int rank : {1, 2, 4, 7, 11}) CHECK_FALSE(chosen.contains(Rank{rank}));
}

TEST_CASE("a chosen rank that the job does not have is found", "[rank_selection]") {
  CHECK(RankSelection::parse("0,7").value().beyond(2) == Rank{7});
  CHECK(RankSelection::parse("2").value().beyond(2) == Rank{2});
  CHECK(RankSelection::parse("0-7").value().beyond(2) == std::nullopt);
  CHECK(RankSelection().beyond(1) == std::nullopt);
}

TEST_CASE("what is no choice of ranks is refused by name", "[rank_selection]") {
  for (const char* text : {"", "0,", ",1", "x", "1.5", "3-1", "-1", "0 3", "99999999999"}) {
    INFO(text);
    REQUIRE(RankSelection::parse(text).has_error());
    CHECK(RankSelection::parse(text).error().code == Errc::usage);
  }
  CHECK(RankSelection::parse("0,two").error().message.find("'two' in --ranks 0,two") == 0);
}
