#include "launcher/agree/tcp_host.h"

#include "catch.h"
#include "launcher/agree/makers.h"
#include "launcher/agree/tcp_server.h"
#include "tcp_backend.h"

namespace safelaunch::agree {
namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;
using testing::AtNodeZero;

/// Keeps what one agent is told, as words.
struct Told : Board::Listener {
  void hear(const BoardEvent& event) override {
    std::visit([this](const auto& one) { on(one); }, event);
  }
  void on(const Seated& event) {
    add("seated " + std::to_string(event.seat.number));
    generation = event.seat.generation;
  }
  void on(const Parked& event) { add("parked: " + event.why); }
  void on(const Confirmed& /*event*/) { ++confirmations; }
  void on(const WordCame& event) { add("word " + event.word.text); }
  void on(const StandingCame& event) {
    add("standing " + event.standing.host + " " + event.standing.text);
  }
  void on(const SeatVacated& event) { add("vacated " + std::to_string(event.seat)); }
  void on(const Unseated& event) { add("unseated: " + event.why); }
  void on(const Unreachable& event) { add("unreachable: " + event.why); }
  void on(const Refused& event) { add("refused: " + event.error.message); }
  void on(const TurnedAway& event) { add("away: " + event.who_and_why); }

  void add(const std::string& line) { lines.push_back(line); }
  [[nodiscard]] bool has(const std::string& line) const {
    return std::ranges::any_of(lines, [&](const std::string& one) { return one.find(line) == 0; });
  }

  std::vector<std::string> lines;
  int confirmations = 0;
  std::uint64_t generation = 0;
};

struct Meeting {
  std::unique_ptr<Board> open(bool first, Told& told) {
    BoardConfig config = backend.config(first);
    config.token = token;
    config.terms = terms;
    auto board = make_tcp_board(io, config, told);
    REQUIRE(board.has_value());
    return std::move(*board);
  }
  std::unique_ptr<Board> join(int seat, Told& told) {
    auto board = open(seat == 0, told);
    board->claim({"agent " + std::to_string(seat), seat, 2, "job", "host-" + std::to_string(seat)});
    return board;
  }
  template <class Condition>
  void until(const Condition& holds) {
    const TimePoint limit = Clock::now() + 60s;
    while (!holds() && Clock::now() < limit) io.run_one_for(20ms);
    REQUIRE(holds());
  }

  boost::asio::io_context io;
  AtNodeZero backend;
  Terms terms{10s, 50ms, 3s};
  std::string token = "the token that all agents share";
};

TEST_CASE("node 0's own agent and one from outside meet at its board", "[tcp_host]") {
  Meeting meeting;
  Told leader, member;
  const auto first = meeting.join(0, leader);
  const auto second = meeting.join(1, member);
  second->publish("ready");
  meeting.until([&] { return leader.has("standing host-1 ready"); });
  first->say({leader.generation, 1, "go"});
  meeting.until([&] { return member.has("word go") && leader.has("word go"); });
  meeting.until([&] { return leader.confirmations > 3 && member.confirmations > 3; });
}

TEST_CASE("node 0's agent is told nothing before its call has returned", "[tcp_host]") {
  Meeting meeting;
  Told leader;
  const auto board = meeting.join(0, leader);
  CHECK(leader.lines.empty());
  meeting.until([&] { return leader.has("seated 0"); });
}

TEST_CASE("an agent that comes before node 0 is seated once node 0 is there", "[tcp_host]") {
  Meeting meeting;
  Told leader, member;
  const auto second = meeting.join(1, member);
  meeting.until([&] { return member.has("unreachable: the board at tcp://127.0.0.1"); });
  const auto first = meeting.join(0, leader);
  meeting.until([&] { return member.has("seated 1") && leader.has("standing host-1"); });
}

TEST_CASE("the connection with which an agent comes back ends its former one", "[tcp_host]") {
  Meeting meeting;
  Told leader, before, after;
  const auto first = meeting.join(0, leader);
  auto former = meeting.join(1, before);
  meeting.until([&] { return before.has("seated 1"); });
  const auto next = meeting.join(1, after);  // the same incarnation
  meeting.until([&] { return after.has("seated 1"); });
  meeting.until([&] { return before.has("unreachable"); });
  former.reset();
  after.confirmations = 0;
  meeting.until([&] { return after.confirmations > 0; });
  CHECK_FALSE(leader.has("vacated"));
}

TEST_CASE("node 0 is told of an agent that is not let in, and of a spare", "[tcp_host]") {
  Meeting meeting;
  Told leader, member, other;
  const auto first = meeting.join(0, leader);
  const auto second = meeting.join(1, member);
  meeting.until([&] { return leader.has("standing host-1"); });
  SECTION("another token") {
    meeting.token = "a token that no other agent has";
    const auto third = meeting.join(1, other);
    const std::string at = "127.0.0.1";
    meeting.until([&] {
      return leader.has("away: an agent at " + at + " was not let in: its token is another one");
    });
  }
  SECTION("another number of nodes") {
    const auto third = meeting.open(false, other);
    third->claim({"agent 2", 2, 3, "job", "host-2"});
    meeting.until([&] {
      return leader.has("away: host-2 was not let in: the number of nodes on host-2 is 3");
    });
  }
  SECTION("a second one of a node") {
    const auto third = meeting.open(false, other);
    third->claim({"agent 2", 1, 2, "job", "host-2"});
    meeting.until([&] {
      return leader.has(
          "away: host-2 is a spare and waits: node 1 is held by the safelaunch on host-1");
    });
  }
  CHECK_FALSE(leader.has("away: host-1"));
  CHECK_FALSE(member.has("away"));
}

TEST_CASE("the leader's last word reaches all before it is gone", "[tcp_host]") {
  Meeting meeting;
  Told leader, member;
  auto first = meeting.join(0, leader);
  const auto second = meeting.join(1, member);
  meeting.until([&] { return leader.has("standing host-1") && leader.has("seated 0"); });
  first->say({leader.generation, 1, std::string(kLongestText, 'e')});
  bool left = false;
  first->leave([&] { left = true; });
  meeting.until([&] { return left; });
  first.reset();
  meeting.until([&] { return member.has("word eee"); });
  meeting.until([&] { return member.has("unreachable"); });
}

TEST_CASE("a board that was killed and comes back gives no seat away before its leases are over",
          "[tcp_host]") {
  Meeting meeting;
  meeting.terms = {1s, 50ms, 500ms};
  Told leader, member, again;
  auto first = meeting.join(0, leader);
  auto second = meeting.join(1, member);
  meeting.until([&] { return member.has("seated 1") && leader.has("seated 0"); });
  first.reset();
  second.reset();
  const TimePoint killed = Clock::now();
  first = meeting.join(0, again);
  meeting.until([&] { return again.has("parked: the board of this job ended unexpectedly"); });
  CHECK(again.confirmations == 0);
  meeting.until([&] { return again.has("seated 0"); });
  CHECK(Clock::now() - killed >= 1s);
  CHECK(again.generation > leader.generation);
}

TEST_CASE("a board that ended in order leaves nothing behind", "[tcp_host]") {
  Meeting meeting;
  Told leader;
  auto first = meeting.join(0, leader);
  meeting.until([&] { return leader.has("seated 0"); });
  bool left = false;
  first->leave([&] { left = true; });
  meeting.until([&] { return left; });
  first.reset();
  CHECK(meeting.backend.is_clean());
}

TEST_CASE("node 0 does not listen on all interfaces, on others' addresses or a taken port",
          "[tcp_host]") {
  boost::asio::io_context io;
  Told told;
  const auto why_not = [&](const std::string& where) {
    BoardConfig config;
    config.address = {Address::Backend::tcp, {where}};
    config.keeps_board = true;
    const auto board = make_tcp_board(io, config, told);
    REQUIRE(board.has_error());
    return board.error();
  };
  CHECK_THAT(why_not("0.0.0.0:29400").message, ContainsSubstring("all interfaces"));
  CHECK_THAT(why_not("[::]:29400").message, ContainsSubstring("all interfaces"));
  CHECK_THAT(why_not("192.0.2.1:29400").message, ContainsSubstring("address of node 0 itself"));
  Meeting meeting;
  const auto board = meeting.open(true, told);
  CHECK(why_not(meeting.backend.where).code == Errc::blocked);
}

TEST_CASE("a flood of strangers changes nothing for those who meet", "[tcp_host]") {
  Meeting meeting;
  Told leader, member;
  const auto first = meeting.join(0, leader);
  std::vector<UniqueFd> flood;
  const auto address = SocketAddress::parse(
      "127.0.0.1", meeting.backend.where.substr(meeting.backend.where.find(':') + 1));
  for (int i = 0; i < 500; ++i) {
    flood.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    REQUIRE(::connect(flood.back().get(), address->pointer(), address->size()) == 0);
    const std::string bytes = i % 2 == 0 ? std::string(4, '\xff') : "\1";
    (void)!::send(flood.back().get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    meeting.io.poll();
  }
  const auto second = meeting.join(1, member);
  second->publish("ready");
  meeting.until([&] { return leader.has("standing host-1 ready"); });
  CHECK_FALSE(member.has("unreachable"));
}

}  // namespace
}  // namespace safelaunch::agree
