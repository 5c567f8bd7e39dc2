#include "launcher/agree/board_core.h"

#include "catch.h"
#include "safelaunch/base/format.h"

namespace safelaunch::agree {
namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

std::string in_words(const wire::FromBoard& message) {
  struct Words {
    std::string operator()(const Seated& one) const {
      return fmt::format("seat {} generation {}", one.seat.number, one.seat.generation);
    }
    std::string operator()(const Parked& one) const { return "parked: " + one.why; }
    std::string operator()(const wire::Confirms& one) const {
      return fmt::format("confirmed {}{}", one.number, one.holds ? "" : " without a seat");
    }
    std::string operator()(const WordCame& one) const {
      return fmt::format("word {}.{} {}", one.word.generation, one.word.number, one.word.text);
    }
    std::string operator()(const StandingCame& one) const {
      return fmt::format("node {} ({}, {}): {}", one.standing.seat, one.standing.host,
                         one.standing.incarnation, one.standing.text);
    }
    std::string operator()(const SeatVacated& one) const {
      return fmt::format("node {} is gone", one.seat);
    }
    std::string operator()(const Unseated& one) const { return "unseated: " + one.why; }
    std::string operator()(const Refused& one) const { return "refused: " + one.error.message; }
    std::string operator()(const wire::LetsGo&) const { return "left"; }
  };
  return std::visit(Words{}, message);
}

using Heard = std::vector<std::string>;

/// A board, and what it tells: "1: seat 0 generation 1" is for connection 1.
class BoardStory {
 public:
  Terms terms;
  TimePoint now = TimePoint{} + 1h;

  explicit BoardStory(int seats = 3, EarlierLife earlier = {}) : board_(seats, {}, earlier) {
    seats_ = seats;
  }

  Heard says(BoardCore::Peer peer, const wire::FromAgent& message) {
    return heard(board_.on(peer, message, now));
  }
  Heard claims(BoardCore::Peer peer, const std::string& name, std::optional<int> seat = {}) {
    return says(peer, wire::ClaimsSeat{claim(name, seat), terms});
  }
  Heard says_word(BoardCore::Peer peer, std::uint64_t generation, std::uint64_t number,
                  const std::string& text) {
    return says(peer, wire::Says{{generation, number, text}});
  }
  Heard passes(Duration time) {
    now += time;
    return heard(board_.time_passed(now));
  }
  Claim claim(const std::string& name, std::optional<int> seat) const {
    return {.incarnation = name, .seat = seat, .seats = seats_, .job = "j", .host = "host-" + name};
  }
  BoardCore& board() { return board_; }

 private:
  static Heard heard(const std::vector<BoardCore::Told>& told) {
    Heard lines;
    for (const BoardCore::Told& one : told)
      lines.push_back(fmt::format("{}: {}", one.to, in_words(one.message)));
    return lines;
  }

  BoardCore board_;
  int seats_ = 0;
};

}  // namespace

TEST_CASE("agents sit, publish to the leader, and hear its word", "[agree]") {
  BoardStory board;
  CHECK(board.claims(1, "a", 0) == Heard{"1: seat 0 generation 1"});
  CHECK(board.claims(2, "b", 2) == Heard{"2: seat 2 generation 1", "1: node 2 (host-b, b): "});
  CHECK(board.says(2, wire::Publishes{"ready"}) == Heard{"1: node 2 (host-b, b): ready"});
  CHECK(board.says(2, wire::Publishes{"ready"}).empty());
  CHECK(board.says_word(1, 1, 1, "gather") == Heard{"1: word 1.1 gather", "2: word 1.1 gather"});
  CHECK(board.says(2, wire::Renews{7}) == Heard{"2: confirmed 7"});
}

TEST_CASE("who comes late hears the newest word", "[agree]") {
  BoardStory board;
  board.claims(1, "a", 0);
  board.says_word(1, 1, 1, "gather");
  board.says_word(1, 1, 2, "go");
  CHECK(board.claims(2, "b", 1) ==
        Heard{"2: seat 1 generation 1", "2: word 1.2 go", "1: node 1 (host-b, b): "});
}

TEST_CASE("a leader that comes last is shown all who are there", "[agree]") {
  BoardStory board;
  board.claims(2, "b", 1);
  board.says(2, wire::Publishes{"joined"});
  CHECK(board.claims(1, "a", 0) ==
        Heard{"1: seat 0 generation 1", "1: node 1 (host-b, b): joined"});
}

TEST_CASE("agents without a number get what is free, the lowest first", "[agree]") {
  BoardStory board;
  board.claims(1, "a", 1);
  CHECK(board.claims(2, "b") == Heard{"2: seat 0 generation 1", "2: node 1 (host-a, a): "});
  CHECK(board.claims(3, "c") == Heard{"3: seat 2 generation 1", "2: node 2 (host-c, c): "});
  CHECK(board.claims(4, "d") ==
        Heard{"4: parked: all 3 nodes are here, node 2 is held by the safelaunch on host-c"});
}

TEST_CASE("a second agent of a node is parked, and seated once the first is gone", "[agree]") {
  BoardStory board;
  board.claims(1, "a", 0);
  board.claims(2, "b", 1);
  CHECK(board.claims(3, "c", 1) == Heard{"3: parked: node 1 is held by the safelaunch on host-b"});
  CHECK(board.says(3, wire::Renews{1}) == Heard{"3: confirmed 1 without a seat"});
  SECTION("because it leaves") {
    CHECK(board.says(2, wire::Leaves{}) == Heard{"2: left", "1: node 1 is gone",
                                                 "3: seat 1 generation 1",
                                                 "1: node 1 (host-c, c): "});
  }
  SECTION("because it is silent for lease and margin, and not before") {
    CHECK(board.passes(12s).empty());
    board.says(1, wire::Renews{1});
    CHECK(board.passes(999ms).empty());
    CHECK(board.passes(1ms) ==
          Heard{"1: node 1 is gone",
                "2: unseated: the board has heard nothing from this node for 13s",
                "3: seat 1 generation 1", "1: node 1 (host-c, c): "});
    CHECK(board.says(2, wire::Publishes{"late"}).empty());
    CHECK(board.says(2, wire::Renews{3}) == Heard{"2: confirmed 3 without a seat"});
  }
}

TEST_CASE("a parked agent hears the leader's word: it learns that the run is over", "[agree]") {
  BoardStory board(1);
  board.claims(1, "a", 0);
  board.claims(2, "b");
  CHECK(board.says_word(1, 1, 1, "end") == Heard{"1: word 1.1 end", "2: word 1.1 end"});
}

TEST_CASE("an agent keeps its seat over a broken connection", "[agree]") {
  BoardStory board;
  board.claims(1, "a", 0);
  board.claims(2, "b", 1);
  board.says_word(1, 1, 1, "go");
  board.board().gone(2);
  CHECK(board.says_word(1, 1, 2, "stop") == Heard{"1: word 1.2 stop"});
  board.passes(5s);
  CHECK(board.claims(7, "b", 1) == Heard{"7: seat 1 generation 1", "7: word 1.2 stop"});
  CHECK(board.says(7, wire::Renews{1}) == Heard{"7: confirmed 1"});
}

TEST_CASE("a leader that comes back learns who has gone meanwhile", "[agree]") {
  BoardStory board;
  board.claims(1, "a", 0);
  board.claims(2, "b", 1);
  board.claims(3, "c", 2);
  board.board().gone(1);
  board.says(2, wire::Leaves{});
  CHECK(board.claims(7, "a", 0) ==
        Heard{"7: seat 0 generation 1", "7: node 2 (host-c, c): ", "7: node 1 is gone"});
}

TEST_CASE("what an agent said over its former connection counts no more", "[agree]") {
  BoardStory board;
  board.claims(1, "a", 0);
  board.claims(2, "b", 1);
  board.claims(7, "b", 1);
  board.says(7, wire::Publishes{"new"});
  CHECK(board.says(2, wire::Publishes{"old"}).empty());
  CHECK(board.says(2, wire::Leaves{}) == Heard{"2: left"});
  CHECK(board.says(7, wire::Renews{1}) == Heard{"7: confirmed 1"});
}

TEST_CASE("a claim over a former connection does not take the seat from the newer one", "[agree]") {
  BoardStory board;
  board.claims(1, "a", 0);
  board.claims(7, "b", 1);
  CHECK(board.claims(2, "b", 1).empty());
  CHECK(board.says(7, wire::Publishes{"new"}) == Heard{"1: node 1 (host-b, b): new"});
  CHECK(board.says(2, wire::Publishes{"old"}).empty());
  CHECK(board.says_word(1, 1, 1, "go") == Heard{"1: word 1.1 go", "7: word 1.1 go"});
}

TEST_CASE("a parked agent that connects again waits once", "[agree]") {
  BoardStory board(2);
  board.claims(1, "a", 0);
  board.claims(2, "b", 1);
  board.claims(3, "c");
  board.claims(4, "c");
  CHECK(board.says(2, wire::Leaves{}) ==
        Heard{"2: left", "1: node 1 is gone", "4: seat 1 generation 1", "1: node 1 (host-c, c): "});
  board.says(4, wire::Leaves{});
  CHECK_FALSE(board.says(1, wire::Leaves{}).empty());
  CHECK_FALSE(board.board().anybody_seated());
}

TEST_CASE("a parked agent whose connection breaks gets no seat", "[agree]") {
  BoardStory board(1);
  board.claims(1, "a", 0);
  board.claims(2, "b");
  board.board().gone(2);
  CHECK(board.says(1, wire::Leaves{}) == Heard{"1: left"});
}

TEST_CASE("words come in order, of the present leader alone", "[agree]") {
  BoardStory board;
  board.claims(1, "a", 0);
  board.claims(2, "b", 1);
  board.says_word(1, 1, 1, "gather");
  SECTION("the same word twice, after a broken connection") {
    CHECK(board.says_word(1, 1, 1, "gather") == Heard{"1: word 1.1 gather"});
  }
  SECTION("another word of the same number") {
    CHECK(board.says_word(1, 1, 1, "go").back() ==
          "1: unseated: the board does not take word 1 of generation 1 from node 0: it is at word "
          "1 of generation 1");
  }
  SECTION("a number is left out") {
    CHECK_THAT(board.says_word(1, 1, 3, "go").back(), ContainsSubstring("1: unseated"));
  }
  SECTION("of a member") {
    const Heard heard = board.says_word(2, 1, 2, "go");
    CHECK(heard.front() == "1: node 1 is gone");
    CHECK_THAT(heard.back(), ContainsSubstring("2: unseated"));
  }
  SECTION("of somebody without a seat") {
    CHECK(board.says_word(9, 1, 2, "go").empty());
  }
  SECTION("too long a one") {
    CHECK_THAT(board.says_word(1, 1, 2, std::string(kLongestText + 1, 'x')).back(),
               ContainsSubstring("1: unseated"));
  }
}

TEST_CASE("a new leader goes on from the words of the former one, whose word counts no more",
          "[agree]") {
  BoardStory board;
  board.claims(1, "a", 0);
  board.claims(2, "b", 1);
  board.says_word(1, 1, 1, "gather");
  board.says_word(1, 1, 2, "go");
  CHECK(board.says(1, wire::Leaves{}) == Heard{"1: left", "2: node 0 is gone"});
  // Nobody leads: the word is for nobody who comes now.
  CHECK(board.claims(3, "c", 2) == Heard{"3: seat 2 generation 1", "3: node 0 is gone"});
  CHECK(board.claims(4, "d", 0) == Heard{"4: seat 0 generation 2", "4: word 1.2 go",
                                         "4: node 1 (host-b, b): ", "4: node 2 (host-c, c): "});
  CHECK(board.claims(5, "e", 1) == Heard{"5: parked: node 1 is held by the safelaunch on host-b"});
  CHECK(board.says_word(4, 2, 3, "gather") == Heard{"4: word 2.3 gather", "2: word 2.3 gather",
                                                    "3: word 2.3 gather", "5: word 2.3 gather"});
}

TEST_CASE("a former leader's word is refused", "[agree]") {
  BoardStory board;
  board.claims(1, "a", 0);
  board.claims(2, "b", 1);
  board.passes(10s);
  board.says(2, wire::Renews{1});
  board.passes(3s);
  board.claims(3, "c", 0);
  CHECK(board.says_word(1, 1, 1, "go").empty());  // it has no seat
  CHECK_THAT(board.says_word(3, 1, 1, "go").back(), ContainsSubstring("3: unseated"));
}

TEST_CASE("an agent with another number of nodes, or other terms, is refused", "[agree]") {
  BoardStory board;
  board.claims(1, "a", 0);
  Claim claim = board.claim("b", 1);
  claim.seats = 4;
  CHECK(board.says(2, wire::ClaimsSeat{claim, board.terms}) ==
        Heard{"2: refused: the number of nodes on host-b is 4, but 3 on the other nodes: start "
              "safelaunch with the same arguments on every node"});
  CHECK_THAT(board.claims(2, "b", 3).front(), ContainsSubstring("the numbers are 0 to 2"));
  CHECK_THAT(board.claims(2, "b", -1).front(), ContainsSubstring("the numbers are 0 to 2"));
  CHECK_THAT(board.claims(2, "", 1).front(), ContainsSubstring("refused"));
  CHECK_THAT(board.claims(2, std::string(1'000, 'x'), 1).front(), ContainsSubstring("refused"));
  board.terms.lease = 20s;
  CHECK_THAT(board.claims(2, "b", 1).front(),
             ContainsSubstring("the lease on host-b is 20s, but 10s on the other nodes"));
  board.terms = {.kill_margin = 1s};
  CHECK_THAT(board.claims(2, "b", 1).front(), ContainsSubstring("refused"));
}

TEST_CASE(
    "a board that comes back gives no seat away before the leases of its earlier life are "
    "over",
    "[agree]") {
  const TimePoint start = TimePoint{} + 1h;
  BoardStory board(3, {.until = start + 8s, .generation = 4});
  CHECK(board.claims(1, "a", 0) ==
        Heard{"1: parked: the board of this job ended unexpectedly and came back; it gives seats "
              "again in 8s, when no earlier rank can run any more"});
  board.claims(2, "b", 0);
  CHECK(board.board().deadline() == start + 8s);
  CHECK(board.passes(7'999ms).empty());
  CHECK(board.passes(1ms) == Heard{"1: seat 0 generation 5"});
}

TEST_CASE("a spare hears on over its new connection, though a claim over the former comes later",
          "[agree]") {
  BoardStory board(1);
  board.claims(1, "a", 0);
  board.claims(2, "spare");
  board.claims(3, "spare");
  CHECK(board.claims(2, "spare").empty());
  CHECK(board.says_word(1, 1, 1, "end") == Heard{"1: word 1.1 end", "3: word 1.1 end"});
}

TEST_CASE("one request costs the same among ten thousand agents", "[agree]") {
  constexpr int kAgents = 10'000;
  BoardStory board(kAgents);
  const auto told = [&](BoardCore::Peer peer, const wire::FromAgent& message) {
    return board.board().on(peer, message, board.now).size();
  };
  for (int i = 0; i < kAgents; ++i) {
    const Claim claim = board.claim(std::to_string(i), i);
    const auto peer = static_cast<BoardCore::Peer>(i + 1);
    CHECK(told(peer, wire::ClaimsSeat{claim, board.terms}) <= 2);
    CHECK(told(peer, wire::Publishes{"ready"}) <= 1);
  }
  CHECK(told(1, wire::Says{{1, 1, "go"}}) == kAgents);
  for (int i = 0; i < kAgents; ++i)
    CHECK(told(static_cast<BoardCore::Peer>(i + 1), wire::Renews{1}) == 1);
}

}  // namespace safelaunch::agree
