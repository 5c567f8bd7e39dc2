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

TEST_CASE("a range has both its ends, and may be of one rank", "[rank_selection]") {
  const RankSelection one = RankSelection::parse("5-5").value();
  CHECK(one.contains(Rank{5}));
  CHECK_FALSE(one.contains(Rank{4}));
  CHECK_FALSE(one.contains(Rank{6}));
  CHECK(RankSelection::parse("0-2147483647").value().contains(Rank{2'147'483'647}));
}

TEST_CASE("ranges that overlap, and ranks given twice, choose each rank", "[rank_selection]") {
  const RankSelection chosen = RankSelection::parse("0-3,2-5,2,2").value();
  for (const int rank : {0, 1, 2, 3, 4, 5}) CHECK(chosen.contains(Rank{rank}));
  CHECK_FALSE(chosen.contains(Rank{6}));
}

TEST_CASE("the first chosen range that lies past the last rank is told", "[rank_selection]") {
  CHECK(RankSelection::parse("0,9,7-8").value().beyond(4) == Rank{9});
  CHECK(RankSelection::parse("3-4").value().beyond(4) == std::nullopt);
  CHECK(RankSelection::parse("4-5").value().beyond(4) == Rank{4});
}

TEST_CASE("each wrong part of a choice is told with the whole", "[rank_selection]") {
  const std::pair<const char*, const char*> wrong[] = {
      {"all,0", "all"}, {"0-", "0-"},   {"0-1-2", "0-1-2"},
      {"0,,1", ""},     {"1, 2", " 2"}, {"ALL", "ALL"},
      {"+1", "+1"},     {"0x1", "0x1"}, {"2147483648", "2147483648"}};
  for (const auto& [text, part] : wrong) {
    INFO(text);
    const auto chosen = RankSelection::parse(text);
    REQUIRE(chosen.has_error());
    CHECK(chosen.error().message == "'" + std::string(part) + "' in --ranks " + text +
                                        " is neither a rank nor a range of ranks; write all, 0,3 "
                                        "or 0-3");
  }
}
