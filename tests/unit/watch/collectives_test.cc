#include "safelaunch/watch/collectives.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::watch;

namespace {

using State = CollectiveSeen::State;
using Answers = std::map<Rank, RankCollectives>;

const std::vector<Rank> kWorld{Rank{0}, Rank{1}, Rank{2}};

// A rank of a world of three that has called these.
RankCollectives called(std::vector<CollectiveSeen> last) {
  RankCollectives rank;
  rank.told = true;
  rank.last = std::move(last);
  rank.members["0"] = kWorld;
  return rank;
}

CollectiveSeen in(const std::string& operation, std::int64_t number = 1,
                  const std::string& group = "0") {
  return {group, number, operation, State::enqueued};
}

CollectiveSeen through(const std::string& operation, std::int64_t number = 1,
                       const std::string& group = "0") {
  return {group, number, operation, State::finished};
}

RankCollectives waits_in(std::string wait) {
  RankCollectives rank;
  rank.told = true;
  rank.waits = {std::move(wait)};
  return rank;
}

}  // namespace

TEST_CASE("a rank that calls another operation is named beside the others", "[collectives]") {
  const auto compared = compare({{Rank{0}, called({in("all_reduce")})},
                                 {Rank{1}, called({through("broadcast")})},
                                 {Rank{2}, called({in("all_reduce")})}});
  CHECK(compared.contradiction ==
        "collective 1 of group 0 is all_reduce on ranks 0 2, but broadcast on rank 1");
  CHECK(compared.behind.empty());
}

TEST_CASE("ranks that are in the same collective contradict nobody", "[collectives]") {
  const auto compared = compare({{Rank{0}, called({in("all_reduce")})},
                                 {Rank{1}, called({in("all_reduce")})},
                                 {Rank{2}, called({in("all_reduce")})}});
  CHECK(compared.contradiction.empty());
  CHECK(compared.behind.empty());
}

TEST_CASE("what passed although it did not match is not what holds the ranks up", "[collectives]") {
  const auto compared = compare({{Rank{0}, called({through("all_reduce")})},
                                 {Rank{1}, called({through("broadcast")})},
                                 {Rank{2}, called({through("all_reduce")})}});
  CHECK(compared.contradiction.empty());
}

TEST_CASE("ranks that wait in different groups for each other are entangled", "[collectives]") {
  RankCollectives one = called({in("all_reduce", 1, "1")});
  one.members["1"] = {Rank{0}, Rank{1}};
  const auto compared = compare({{Rank{0}, called({in("all_reduce")})},
                                 {Rank{1}, one},
                                 {Rank{2}, called({in("all_reduce")})}});
  CHECK(compared.contradiction ==
        "ranks 0 2 wait in all_reduce, collective 1 of group 0, for rank 1; "
        "rank 1 waits in all_reduce, collective 1 of group 1, for rank 0");
}

TEST_CASE("groups whose own ranks have all come are not entangled: their way is broken",
          "[collectives]") {
  RankCollectives left;
  left.told = true;
  left.last = {in("all_reduce", 1, "left")};
  left.members = {{"0", {Rank{0}, Rank{1}, Rank{2}, Rank{3}}}, {"left", {Rank{0}, Rank{1}}}};
  RankCollectives right;
  right.told = true;
  right.last = {in("all_gather", 1, "right")};
  right.members = {{"0", {Rank{0}, Rank{1}, Rank{2}, Rank{3}}}, {"right", {Rank{2}, Rank{3}}}};
  const auto compared =
      compare({{Rank{0}, left}, {Rank{1}, left}, {Rank{2}, right}, {Rank{3}, right}});
  CHECK(compared.contradiction.empty());
  CHECK(compared.behind.empty());
}

TEST_CASE(
    "a rank that waits for a third, which is only late, is not entangled with those that wait "
    "for it",
    "[collectives]") {
  RankCollectives pair = called({in("all_reduce", 1, "pair")});
  pair.members["pair"] = {Rank{1}, Rank{2}};
  const auto compared =
      compare({{Rank{0}, called({in("all_reduce")})}, {Rank{1}, pair}, {Rank{2}, called({})}});
  CHECK(compared.contradiction.empty());
  CHECK(compared.behind == std::vector<Rank>{Rank{2}});
}

TEST_CASE("a rank that never called what the others are in is behind", "[collectives]") {
  const auto compared = compare({{Rank{0}, called({through("broadcast"), in("all_reduce", 2)})},
                                 {Rank{1}, called({through("broadcast")})},
                                 {Rank{2}, called({through("broadcast"), in("all_reduce", 2)})}});
  CHECK(compared.behind == std::vector<Rank>{Rank{1}});
  CHECK(compared.waiting == std::vector<Rank>{Rank{0}, Rank{2}});
  CHECK(compared.behind_what == "rank 1 never called all_reduce, collective 2 of group 0");
}

TEST_CASE("a rank that several collectives await is told with the one at the root",
          "[collectives]") {
  // Ranks 0 and 1 are through their own group's barrier and wait in the world's, where rank 2
  // is late too, since rank 3 has not come to the barrier of these two.
  const std::vector<Rank> all{Rank{0}, Rank{1}, Rank{2}, Rank{3}};
  const auto told = [&](std::vector<CollectiveSeen> last) {
    RankCollectives rank;
    rank.told = true;
    rank.last = std::move(last);
    rank.members = {{"0", all}};
    return rank;
  };
  RankCollectives in_pair = told({in("barrier", 1, "2")});
  RankCollectives never = told({});
  in_pair.members["2"] = never.members["2"] = {Rank{2}, Rank{3}};
  const auto compared = compare({{Rank{0}, told({in("barrier")})},
                                 {Rank{1}, told({in("barrier")})},
                                 {Rank{2}, in_pair},
                                 {Rank{3}, never}});
  CHECK(compared.behind == std::vector<Rank>{Rank{3}});
  CHECK(compared.behind_what == "rank 3 never called barrier, collective 1 of group 2 (ranks 2 3)");
}

TEST_CASE("a rank that has not answered is no evidence", "[collectives]") {
  const auto compared =
      compare({{Rank{0}, called({in("all_reduce")})}, {Rank{2}, called({in("all_reduce")})}});
  CHECK(compared.contradiction.empty());
  CHECK(compared.behind.empty());
}

TEST_CASE("counters alone, without an answer about collectives, are no evidence", "[collectives]") {
  RankCollectives counted;
  counted.groups["0"] = {.enqueued = 1, .started = -1, .completed = -1};
  RankCollectives silent;
  const auto compared =
      compare({{Rank{0}, called({in("all_reduce")})}, {Rank{1}, counted}, {Rank{2}, silent}});
  CHECK(compared.behind.empty());
  counted.told = true;  // the recorder had no room for it any more
  CHECK(compare({{Rank{0}, called({in("all_reduce")})}, {Rank{1}, counted}}).behind.empty());
}

TEST_CASE("a number that one rank gives to two operations says nothing", "[collectives]") {
  const auto two_backends = called({through("broadcast"), in("all_reduce")});
  const auto late = called({through("broadcast")});
  CHECK(compare({{Rank{0}, two_backends}, {Rank{1}, late}}).contradiction.empty());
}

TEST_CASE("waits in the store are told, other waits are not", "[collectives]") {
  const auto compared = compare({{Rank{0}, waits_in("TCPStore__wait")},
                                 {Rank{1}, waits_in("c10d.init_process_group")},
                                 {Rank{2}, waits_in("TCPStore__wait")}});
  CHECK(compared.store_waits == "ranks 0 2 wait in the store (TCPStore__wait)");
}

TEST_CASE("a rank's collectives are told in one line", "[collectives]") {
  RankCollectives rank = called({through("broadcast"), in("all_reduce", 2)});
  rank.groups["0"] = {.enqueued = 2, .started = -1, .completed = 1};
  rank.waits = {"TCPStore__get"};
  CHECK(describe(rank) ==
        "group 0: enqueued 2, started -1, completed 1; broadcast, collective 1 of group 0: "
        "finished; all_reduce, collective 2 of group 0: enqueued; waits in TCPStore__get");
  CHECK(describe(RankCollectives{}) == "no collective yet");
}
