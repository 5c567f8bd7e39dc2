#include "safelaunch/ranks/node_counts.h"

#include <boost/asio/io_context.hpp>
#include <limits>

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::ranks;

TEST_CASE("a node's counters read back as they were", "[node_counts]") {
  NodeCounts counts{.question = 7, .wrote = true, .others_work = true};
  counts.activities = {{Rank{2}, Activity::working}, {Rank{3}, Activity::stopped}};
  using safelaunch::watch::Uncounted;
  for (const Uncounted uncounted : {Uncounted::nothing, Uncounted::comes, Uncounted::stands,
                                    Uncounted::meets, Uncounted::serves}) {
    counts.ranks[Rank{2}] = {{5, 4, 1}, uncounted};
    const auto read = counts_from(to_text(counts));
    REQUIRE(read.has_value());
    CHECK(*read == counts);
  }
}

TEST_CASE("what are no counters of a node is an error, and no crash", "[node_counts]") {
  for (const char* text :
       {"", "[]", "{}", R"({"question":1})", R"({"question":0,"ranks":[]})",
        R"({"question":1,"ranks":[{}]})", R"({"question":1,"ranks":[{"rank":-1}]})"})
    CHECK_FALSE(counts_from(text).has_value());
  const auto read = counts_from(R"({"question":1,"ranks":[{"rank":1,"begun":"x"}]})");
  REQUIRE(read.has_value());
  CHECK(read->activities.at(Rank{1}) == Activity::unseen);
  CHECK(read->ranks.at(Rank{1}).collectives.begun == 0);
}

TEST_CASE("a member answers each of the leader's questions for counters once", "[node_counts]") {
  boost::asio::io_context io;
  const std::map<Rank, safelaunch::watch::RankState> none;
  std::vector<int> asked;
  std::vector<NodeCounts> told;
  CountRound round(
      io, none, [&](int id) { asked.push_back(id); },
      [&](const NodeCounts& counts) { told.push_back(counts); });
  round.begin(0);  // the leader has not asked yet
  round.saw_output();
  round.begin(1);
  round.begin(1);
  io.run();
  io.restart();
  round.begin(2);
  io.run();
  CHECK(asked == std::vector<int>{1, 2});
  REQUIRE(told.size() == 2);
  CHECK(told.front() == NodeCounts{.question = 1, .wrote = true});
  CHECK_FALSE(told.back().wrote);
}
