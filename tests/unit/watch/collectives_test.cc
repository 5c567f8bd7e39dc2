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

// A rank whose recorder tells nothing, in its first call.
RankCollectives first(FirstCall call) {
  RankCollectives rank;
  rank.told = true;
  call.group = call.group.empty() ? "0" : call.group;
  call.blocks = true;
  rank.first = std::move(call);
  return rank;
}

RankCollectives receives_from(int peer) {
  return first({.operation = "recv", .group = "", .peer = Rank{peer}});
}

RankCollectives goes_on(RankCollectives rank) {
  rank.first->blocks = false;
  return rank;
}

RankCollectives finished(RankCollectives rank) {
  rank.first->open = false;
  return rank;
}

}  // namespace

TEST_CASE("ranks that all receive before they send wait in a circle of messages", "[collectives]") {
  const auto compared = compare(
      {{Rank{0}, receives_from(2)}, {Rank{1}, receives_from(0)}, {Rank{2}, receives_from(1)}});
  CHECK(compared.contradiction ==
        "rank 1 waits in recv from rank 0; rank 2 waits in recv from rank 1; "
        "rank 0 waits in recv from rank 2");
  CHECK(compared.of_messages);
  CHECK(compared.together.empty());
}

TEST_CASE("a circle is one only if every rank of it stands in its call", "[collectives]") {
  const Answers all{{Rank{0}, receives_from(1)}, {Rank{1}, receives_from(0)}};
  REQUIRE(compare(all).of_messages);
  Answers goes{all};  // irecv goes on, and may send next
  goes[Rank{1}] = goes_on(receives_from(0));
  CHECK(compare(goes).contradiction.empty());
  Answers over{all};  // its first call is over, and nobody knows its second
  over[Rank{1}] = finished(receives_from(0));
  CHECK(compare(over).contradiction.empty());
  CHECK(compare(over).behind.empty());
}

TEST_CASE("a rank from which another receives, and which never sent, is behind", "[collectives]") {
  const auto compared = compare({{Rank{0}, receives_from(1)}, {Rank{1}, RankCollectives{}}});
  CHECK(compared.contradiction.empty());
  CHECK(compared.behind.empty());  // it has not answered: no evidence
  RankCollectives answered;
  answered.told = true;
  const auto told = compare({{Rank{0}, receives_from(1)}, {Rank{1}, answered}});
  CHECK(told.behind == std::vector{Rank{1}});
  CHECK(told.behind_what == "rank 1 never sent to rank 0");
}

TEST_CASE("a send and the recv that fits it wait for nobody: the way between them hangs",
          "[collectives]") {
  const auto sends_to = [](int peer) {
    return first({.operation = "send", .group = "", .peer = Rank{peer}});
  };
  const auto fits = compare({{Rank{0}, sends_to(1)}, {Rank{1}, receives_from(0)}});
  CHECK(fits.contradiction.empty());
  CHECK(fits.behind.empty());
  CHECK(compare({{Rank{0}, sends_to(1)}, {Rank{1}, sends_to(0)}}).of_messages);
  CHECK(compare({{Rank{0}, sends_to(1)}, {Rank{1}, receives_from(2)}, {Rank{2}, receives_from(0)}})
            .of_messages);
}

TEST_CASE("a send and a recv of other tags never meet", "[collectives][bug]") {
  const auto compared =
      compare({{Rank{0}, first({.operation = "send", .group = "", .peer = Rank{1}})},
               {Rank{1}, first({.operation = "recv", .group = "", .peer = Rank{0}, .tag = 7})}});
  CHECK(compared.contradiction ==
        "rank 1 waits in recv from rank 0 with tag 7; rank 0 waits in send to rank 1");
  CHECK(compared.of_messages);
}

TEST_CASE("those that wait for a circle of messages are no part of it", "[collectives][bug]") {
  const RankCollectives barrier = first({.operation = "barrier", .group = ""});
  const auto compared = compare({{Rank{0}, receives_from(1)},
                                 {Rank{1}, receives_from(0)},
                                 {Rank{2}, barrier},
                                 {Rank{3}, barrier}});
  CHECK(compared.contradiction ==
        "rank 1 waits in recv from rank 0; rank 0 waits in recv from rank 1");
  CHECK(compared.of_messages);
}

TEST_CASE("a message and a collective that wait for each other are no circle of messages",
          "[collectives]") {
  const auto compared = compare(
      {{Rank{0}, first({.operation = "barrier", .group = ""})}, {Rank{1}, receives_from(0)}});
  CHECK(compared.contradiction ==
        "rank 0 waits in barrier, for rank 1; rank 1 waits in recv from rank 0");
  CHECK_FALSE(compared.of_messages);
}

// On an H200: rank 0's all_reduce of four numbers ended beside rank 1's all_gather, which did not.
TEST_CASE("first calls that differ hold one rank up though the other's is over", "[collectives]") {
  const RankCollectives gathers = first({.operation = "all_gather", .group = ""});
  const RankCollectives reduced = finished(first({.operation = "all_reduce", .group = ""}));
  CHECK(compare({{Rank{0}, reduced}, {Rank{1}, gathers}}).contradiction ==
        "the first collective of group 0 is all_reduce on rank 0, but all_gather on rank 1");
  CHECK(compare({{Rank{0}, reduced}, {Rank{1}, finished(gathers)}}).contradiction.empty());
}

TEST_CASE("a rank that makes a group while another is in a collective is named", "[collectives]") {
  const FirstCall group{.operation = "new_group", .group = "1", .members = {Rank{0}, Rank{1}}};
  const auto compared =
      compare({{Rank{0}, first(group)}, {Rank{1}, first({.operation = "barrier", .group = ""})}});
  CHECK(compared.contradiction ==
        "rank 1 waits in barrier, for rank 0; rank 0 waits in new_group, for rank 1");
}

TEST_CASE("a rank that has made the group with other members never missed its call",
          "[collectives]") {
  const FirstCall wide{.operation = "new_group", .group = "1", .members = {Rank{0}, Rank{1}}};
  const FirstCall narrow{.operation = "new_group", .group = "1", .members = {Rank{0}}};
  CHECK(compare({{Rank{0}, finished(first(narrow))}, {Rank{1}, first(wide)}}).behind.empty());
  const FirstCall other{.operation = "new_group", .group = "2", .members = {Rank{0}}};
  CHECK(compare({{Rank{0}, finished(first(other))}, {Rank{1}, first(wide)}}).behind ==
        std::vector{Rank{0}});
}

TEST_CASE("ranks that think of different sources disagree", "[collectives]") {
  const auto from = [](int root) {
    return first({.operation = "broadcast", .group = "", .peer = Rank{root}});
  };
  CHECK(compare({{Rank{0}, from(1)}, {Rank{1}, from(0)}, {Rank{2}, from(0)}}).contradiction ==
        "the first collective of group 0 is broadcast from rank 0 on ranks 1 2, but broadcast from "
        "rank 1 on rank 0");
  const auto agreed = compare({{Rank{0}, from(1)}, {Rank{1}, from(1)}});
  CHECK(agreed.contradiction.empty());
  CHECK(agreed.together == std::vector{Rank{0}, Rank{1}});
}

TEST_CASE("ranks are together only in one and the same collective", "[collectives]") {
  CHECK(compare({{Rank{0}, called({in("all_reduce")})}, {Rank{1}, called({in("all_reduce")})}})
            .together == std::vector{Rank{0}, Rank{1}});
  CHECK(compare({{Rank{0}, called({in("all_reduce")})}, {Rank{1}, called({})}}).together ==
        std::vector{Rank{0}});
  CHECK(compare(
            {{Rank{0}, called({in("all_reduce")})}, {Rank{1}, called({in("all_reduce", 1, "1")})}})
            .together.empty());
}

TEST_CASE("a group that ranks give different members is told", "[collectives]") {
  const std::map<std::string, std::vector<Rank>> outer{{"1", {Rank{0}, Rank{3}}}};
  const std::map<std::string, std::vector<Rank>> inner{{"1", {Rank{1}, Rank{2}}}};
  CHECK(groups_that_differ(
            {{Rank{0}, outer}, {Rank{1}, inner}, {Rank{2}, inner}, {Rank{3}, outer}}) ==
        "group 1 is ranks 0 3 on ranks 0 3, but ranks 1 2 on ranks 1 2");
  CHECK(groups_that_differ({{Rank{0}, outer}, {Rank{3}, outer}}).empty());
  CHECK(groups_that_differ({{Rank{0}, outer}, {Rank{1}, {{"2", {Rank{1}}}}}}).empty());
}

TEST_CASE("operations are called as people call them", "[collectives]") {
  CHECK(operation_for_people("allreduce_") == "all_reduce");
  CHECK(operation_for_people("recv_any_source_") == "recv");
  CHECK(operation_for_people("broadcast_") == "broadcast");
  CHECK(operation_for_people("barrier") == "barrier");
}

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

TEST_CASE("the counters of a small group may be another's, and hide no rank that is behind",
          "[collectives]") {
  RankCollectives waits = called({in("all_reduce", 1, "3")});
  RankCollectives never = called({in("all_reduce", 4, "0")});
  never.last.front().state = CollectiveSeen::State::finished;
  never.groups["3"] = {.enqueued = 7, .started = 7, .completed = 7};  // its fourth group
  waits.members["3"] = never.members["3"] = {Rank{0}, Rank{2}};
  CHECK(compare({{Rank{0}, waits}, {Rank{2}, never}}).behind == std::vector<Rank>{Rank{2}});
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
