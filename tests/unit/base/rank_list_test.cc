#include "safelaunch/base/rank_list.h"

#include <vector>

#include "catch.h"

using namespace safelaunch;

TEST_CASE("ranks are listed for a person", "[rank_list]") {
  CHECK(rank_list(std::vector<Rank>{{3}}) == "rank 3");
  CHECK(rank_list(std::vector<Rank>{{3}, {7}}) == "ranks 3 7");
  CHECK(rank_list(std::vector<Rank>{{0}, {1}, {3}}) == "ranks 0 1 3");
  CHECK(rank_list(std::vector<Rank>{{0}, {1}, {2}, {9}}) == "ranks 0-2 9");
}

TEST_CASE("a long list of ranks ends with their number", "[rank_list]") {
  std::vector<Rank> even;
  for (int i = 0; i < 100; i += 2) even.push_back({i});
  CHECK(rank_list(even) == "ranks 0 2 4 6 8 10 12 14 16 18 20 22 and 38 more");
}

TEST_CASE("ranks within a sentence are all named, each once, in their order", "[rank_list]") {
  CHECK(ranks_in_words({{2}}) == "rank 2");
  CHECK(ranks_in_words({{3}, {3}}) == "rank 3");
  CHECK(ranks_in_words({{3}, {0}, {1}}) == "ranks 0, 1 and 3");
  CHECK(ranks_in_words({{0}, {1}, {2}, {8}, {9}}) == "ranks 0-2, 8 and 9");
  std::vector<Rank> even;
  for (int i = 0; i < 40; i += 2) even.push_back({i});
  CHECK(ranks_in_words(even).ends_with("34, 36 and 38"));
}

TEST_CASE("ranks with the same words are put together, in the order of the words", "[rank_list]") {
  std::vector<AlikeRanks> groups;
  add_alike(groups, Rank{0}, "working");
  add_alike(groups, Rank{1}, "idling");
  add_alike(groups, Rank{4}, "working");
  CHECK(groups == std::vector<AlikeRanks>{{"working", {{0}, {4}}}, {"idling", {{1}}}});
}

TEST_CASE("two neighbours are two pieces, three are a run", "[rank_list]") {
  CHECK(rank_list(std::vector<Rank>{}) == "ranks");
  CHECK(rank_list(std::vector<Rank>{{0}, {1}}) == "ranks 0 1");
  CHECK(rank_list(std::vector<Rank>{{5}, {6}, {7}}) == "ranks 5-7");
  CHECK(rank_list(std::vector<Rank>{{0}, {2}, {3}, {4}, {9}, {10}}) == "ranks 0 2-4 9 10");
}

TEST_CASE("twelve pieces are listed, and runs count as one", "[rank_list]") {
  std::vector<Rank> ranks;
  for (int i = 0; i < 12; ++i)
    for (int j = 0; j < 3; ++j) ranks.push_back({i * 10 + j});
  CHECK(rank_list(ranks) ==
        "ranks 0-2 10-12 20-22 30-32 40-42 50-52 60-62 70-72 80-82 90-92 100-102 110-112");
  ranks.push_back({1000});
  CHECK(rank_list(ranks).ends_with(" 110-112 and 1 more"));
}
