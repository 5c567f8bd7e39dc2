#include "launcher/report/html_page.h"

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::report;

namespace {

constexpr const char* kWaits =
    "group 0: enqueued 2, started -1, completed 1; broadcast, collective 1 of group 0: finished; "
    "all_reduce, collective 2 of group 0: enqueued; waits in TCPStore__wait";

}  // namespace

TEST_CASE("the answers of ranks become a table of ranks and collectives", "[called]") {
  const CalledMatrix matrix = read_called({std::string("rank 0: ") + kWaits,
                                           "rank 1: broadcast, collective 1 of group 0: finished",
                                           std::string("rank 2: ") + kWaits});
  REQUIRE(matrix.places.size() == 2);
  CHECK(matrix.places[1] == CollectivePlace{"0", 2});
  REQUIRE(matrix.rows.size() == 2);
  CHECK(matrix.rows[0].ranks == std::vector{Rank{0}, Rank{2}});
  CHECK(matrix.rows[0].called.at({"0", 2}) == CalledCollective{"all_reduce", "enqueued"});
  CHECK(matrix.rows[0].waits == std::vector<std::string>{"waits in TCPStore__wait"});
  CHECK_FALSE(matrix.rows[1].called.contains({"0", 2}));
}

TEST_CASE("an answer that makes no sense is passed over", "[called]") {
  const CalledMatrix matrix = read_called(
      {"", "rank", "rank x: all_reduce, collective 1 of group 0: finished",
       "rank 3: all_reduce, collective many of group 0: finished; , collective  of group : "});
  CHECK(matrix.places.empty());
  CHECK(matrix.rows.size() == 1);
}

TEST_CASE("of many collectives the last sixteen are shown", "[called]") {
  std::string answer = "rank 0: ";
  for (int i = 1; i <= 60; ++i)
    answer += "all_reduce, collective " + std::to_string(i) + " of group 0: finished; ";
  const CalledMatrix matrix = read_called({answer});
  REQUIRE(matrix.places.size() == 16);
  CHECK(matrix.places.back().number == 60);
}
