#include "safelaunch/nodes/party.h"

#include <boost/asio/io_context.hpp>

#include "catch.h"
#include "safelaunch/host/network.h"

using namespace safelaunch;
using namespace safelaunch::nodes;
using namespace std::chrono_literals;

namespace {

/// A board that keeps what it is told; the test speaks for it.
class BoardOfTest final : public agree::Board {
 public:
  void claim(const agree::Claim& claim) override { claims.push_back(claim); }
  void publish(std::string text) override { published.push_back(std::move(text)); }
  void say(agree::Word word) override { words.push_back(std::move(word)); }
  void leave(std::function<void()> left) override { leaving.push_back(std::move(left)); }

  std::vector<agree::Claim> claims;
  std::vector<std::string> published;
  std::vector<agree::Word> words;
  std::vector<std::function<void()>> leaving;
};

/// A node's place among three agents, with a board of the test's.
class PartyScene : Party::Listener {
 public:
  explicit PartyScene(int seat) {
    agree::AgentConfig agent;
    agent.claim = {.incarnation = "me", .seat = seat, .seats = 3, .job = "j", .host = "gpu"};
    auto opened = Party::open(
        io,
        [&](agree::Board::Listener& listener) -> Result<std::unique_ptr<agree::Board>> {
          hears = &listener;
          auto made = std::make_unique<BoardOfTest>();
          board = made.get();
          return std::unique_ptr<agree::Board>(std::move(made));
        },
        agent, *this);
    REQUIRE(opened.has_value());
    party = *std::move(opened);
  }
  void sit(int seat) {
    party->take(agree::Joins{});
    hears->hear(agree::Seated{{seat, 1}});
    hears->hear(agree::Confirmed{Clock::now()});
  }
  void be_told(const agree::Decision& decision) {
    hears->hear(agree::WordCame{{1, ++word_, agree::to_text(decision)}});
  }
  /// A member that is ready, and one whose attempt runs.
  void be_called() {
    party->take(agree::NewsHere{});
    be_told({.order = agree::Order::gather});
  }
  void start() {
    be_told({.order = agree::Order::go, .attempt = 1, .gathered = word_, .profile = "basic"});
  }
  template <class Action>
  [[nodiscard]] std::vector<Action> all() const {
    std::vector<Action> found;
    for (const agree::AgentAction& one : wanted)
      if (const auto* held = std::get_if<Action>(&one)) found.push_back(*held);
    return found;
  }

  boost::asio::io_context io;
  BoardOfTest* board = nullptr;
  agree::Board::Listener* hears = nullptr;
  std::vector<agree::AgentAction> wanted;
  std::unique_ptr<Party> party;

 private:
  void party_wants(const agree::AgentAction& action) override { wanted.push_back(action); }
  std::uint64_t word_ = 0;
};

plan::PartyPlan meeting_at(const std::string& address) {
  plan::PartyPlan party;
  party.placement.nodes = 4;
  party.placement.job = "slurm-7.0";
  party.address = *agree::parse_address(address);
  return party;
}

}  // namespace

TEST_CASE("an agent that joins claims its seat, and publishes once it has it", "[party]") {
  PartyScene node(1);
  node.party->take(agree::Joins{});
  REQUIRE(node.board->claims.size() == 1);
  CHECK(node.board->claims.front().seat == 1);
  CHECK(node.board->published.empty());
  node.hears->hear(agree::Seated{{1, 1}});
  REQUIRE(node.board->published.size() == 1);
  CHECK(agree::news_from(node.board->published.front())->phase == agree::NodePhase::joined);
  CHECK(node.party->seat() == 1);
  CHECK_FALSE(node.party->leads());
}

TEST_CASE("what only the run can do is handed to it", "[party]") {
  PartyScene node(1);
  node.sit(1);
  node.be_called();
  CHECK(node.all<agree::StartHere>().empty());
  node.start();
  REQUIRE(node.all<agree::StartHere>().size() == 1);
  CHECK(node.all<agree::StartHere>().front().go.profile == "basic");
  CHECK(node.all<agree::HoldLease>().size() == 1);
  CHECK(node.board->words.empty());
}

TEST_CASE("the holder of seat 0 speaks at the board", "[party]") {
  PartyScene node(0);
  node.sit(0);
  CHECK(node.party->leads());
  REQUIRE(node.board->words.size() == 1);
  CHECK(agree::decision_from(node.board->words.front().text)->order == agree::Order::gather);
  node.hears->hear(
      agree::StandingCame{{1, "m1", "gpu-1", agree::to_text(agree::NodeNews{.workers = 4})}});
  REQUIRE(node.all<agree::NodeTold>().size() == 1);
  CHECK(node.all<agree::NodeTold>().front().news.workers == 4);
}

TEST_CASE("the run hears of its end when the board knows that this node leaves", "[party]") {
  PartyScene node(1);
  node.sit(1);
  node.be_told({.order = agree::Order::end, .exit_code = 3, .why = "the script's own"});
  REQUIRE(node.board->leaving.size() == 1);
  CHECK(agree::news_from(node.board->published.back())->phase == agree::NodePhase::leaving);
  CHECK(node.all<agree::EndHere>().empty());
  node.board->leaving.front()();
  REQUIRE(node.all<agree::EndHere>().size() == 1);
  CHECK(node.all<agree::EndHere>().front().exit_code == 3);
  CHECK(node.all<agree::EndHere>().front().why == "the script's own");
}

TEST_CASE("a board that cannot be used ends the run at once: there is nothing to leave",
          "[party]") {
  PartyScene node(1);
  node.party->take(agree::Joins{});
  node.hears->hear(agree::Refused{{Errc::bad_config, "the token is another one"}});
  const auto ends = node.all<agree::EndHere>();
  REQUIRE(ends.size() == 1);
  CHECK(ends.front().exit_code == 78);
  CHECK(ends.front().why.find("the token is another one") != std::string::npos);
}

TEST_CASE("a node whose seats are all taken, and a board that is silent, are told to the user",
          "[party]") {
  PartyScene node(1);
  node.party->take(agree::Joins{});
  node.hears->hear(agree::Parked{"seat 1 is held by gpu-9"});
  node.hears->hear(agree::Unreachable{"connection refused"});
  std::string told;
  for (const agree::TellUser& one : node.all<agree::TellUser>()) told += one.text + "\n";
  CHECK(told.find("seat 1 is held by gpu-9") != std::string::npos);
}

TEST_CASE("an agent that node 0 did not let in is told there", "[party]") {
  PartyScene node(0);
  node.sit(0);
  node.hears->hear(agree::TurnedAway{"gpu-9: it has another token"});
  REQUIRE(node.all<agree::TellUser>().size() == 1);
  CHECK(node.all<agree::TellUser>().front().text.find("gpu-9: it has another token") !=
        std::string::npos);
}

TEST_CASE("a node whose lease is lost kills what runs", "[party]") {
  PartyScene node(1);
  node.sit(1);
  node.be_called();
  node.start();
  node.hears->hear(agree::Unseated{"the board counts it as gone"});
  CHECK(node.all<agree::KillHere>().size() == 1);
}

TEST_CASE("a seat that becomes empty is told to the leader's run", "[party]") {
  PartyScene node(0);
  node.sit(0);
  node.hears->hear(agree::StandingCame{{2, "m2", "gpu-2", agree::to_text(agree::NodeNews{})}});
  node.hears->hear(agree::SeatVacated{2});
  const auto silent = node.all<agree::NodeSilent>();
  REQUIRE(silent.size() == 1);
  CHECK(silent.front().seat == 2);
  CHECK(silent.front().silent);
}

TEST_CASE("a deadline of the agreement comes by itself", "[party]") {
  PartyScene node(1);
  node.sit(1);
  node.be_called();
  node.start();
  // Confirmed long ago: the lease is over.
  node.hears->hear(agree::Confirmed{Clock::now() - 1h});
  while (node.all<agree::KillHere>().empty()) REQUIRE(node.io.run_one_for(60s) > 0);
  CHECK(node.all<agree::KillHere>().size() == 1);
}

TEST_CASE("a board that cannot be opened is an error, and there is no party", "[party]") {
  struct Nobody final : Party::Listener {
    void party_wants(const agree::AgentAction&) override {}
  } nobody;
  boost::asio::io_context io;
  const auto opened = Party::open(
      io,
      [](agree::Board::Listener&) -> Result<std::unique_ptr<agree::Board>> {
        return Error{Errc::os, "cannot listen"};
      },
      {}, nobody);
  REQUIRE(opened.has_error());
  CHECK(opened.error().message == "cannot listen");
}

TEST_CASE("an agent joins under the number of its node, with a name of its own", "[party]") {
  plan::PartyPlan party = meeting_at("tcp://gpu-0:29400");
  party.placement.node = 2;
  party.certain = true;
  party.nodes_within = 3s;
  const agree::AgentConfig agent = agent_of(party);
  CHECK(agent.start_within == Duration(3s));
  CHECK(agent.claim.seat == 2);
  CHECK(agent.claim.seats == 4);
  CHECK(agent.claim.job == "slurm-7.0");
  CHECK(agent.claim.incarnation.size() == 32);
  CHECK(agent.claim.incarnation.find_first_not_of("0123456789abcdef") == std::string::npos);
  CHECK(agent_of(party).claim.incarnation != agent.claim.incarnation);
  CHECK_FALSE(agent.apart_after);
}

TEST_CASE("where other nodes may have no agent, nodes that do not come are waited for 30s",
          "[party]") {
  plan::PartyPlan party = meeting_at("tcp://gpu-0:29400");
  party.placement.node = 2;
  party.certain = false;
  CHECK(agent_of(party).apart_after == Duration(30s));
}

TEST_CASE("nodes without numbers: the one that has the address is the first", "[party]") {
  CHECK(agent_of(meeting_at("tcp://127.0.0.1:29400")).claim.seat == 0);
  CHECK(agent_of(meeting_at("tcp://[::1]:29400")).claim.seat == 0);
  CHECK_FALSE(agent_of(meeting_at("tcp://203.0.113.9:29400")).claim.seat);
  CHECK_FALSE(agent_of(meeting_at("file:///shared/board")).claim.seat);
}

TEST_CASE("node 0 keeps a tcp board; one in etcd or in a folder is kept by nobody", "[party]") {
  const agree::Token token{"secret", "the file t"};
  const auto keeps = [&](const std::string& address, std::optional<int> node) {
    plan::PartyPlan party = meeting_at(address);
    party.placement.node = node;
    return board_of(party, token, {}).keeps_board;
  };
  CHECK(keeps("tcp://203.0.113.9:29400", 0));
  CHECK_FALSE(keeps("tcp://127.0.0.1:29400", 1));
  CHECK(keeps("tcp://127.0.0.1:29400", std::nullopt));
  CHECK_FALSE(keeps("etcd://203.0.113.9:2379", 0));
  CHECK_FALSE(keeps("file:///shared/board", 0));
}

TEST_CASE("an agent that may keep a board for others to find knows where it can listen",
          "[party]") {
  const auto addresses = [](const std::string& address, const std::string& head) {
    plan::PartyPlan party = meeting_at(address);
    party.placement.head = head;
    return board_of(party, {"secret", "the file t"}, {}).own_addresses;
  };
  CHECK(addresses("tcp://127.0.0.1:29400", "127.0.0.1").empty());
  REQUIRE_FALSE(addresses("file:///shared/board", "203.0.113.9").empty());
  for (const std::string& one : addresses("file:///shared/board", "203.0.113.9")) {
    CHECK(host::route_to(one).kind == host::Route::Kind::local);
    CHECK(addresses("file:///shared/board", one).front() == one);
  }
  CHECK(addresses("file:///shared/board", "127.0.0.1").front() == "127.0.0.1");
}

TEST_CASE("the board knows the job's secret, and where to remember that it was there", "[party]") {
  const agree::Token token{"secret", "the file t"};
  const plan::PartyPlan party = meeting_at("tcp://203.0.113.9:29400");
  const agree::BoardConfig board =
      board_of(party, token, {{"XDG_STATE_HOME", "/state"}, {"HOME", "/home/me"}});
  CHECK(board.token == "secret");
  CHECK(board.token_from == "the file t");
  CHECK(board.address == party.address);
  CHECK(board.memory_folder == "/state/safelaunch/boards");
  CHECK(board_of(party, token, {{"HOME", "/home/me"}}).memory_folder ==
        "/home/me/.local/state/safelaunch/boards");
  CHECK(board_of(party, token, {}).memory_folder.empty());
}
