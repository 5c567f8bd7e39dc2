// One agent's questions to etcd, and its reading of the answers. The etcd is one of values, and so
// is the time.
#include "launcher/agree/etcd_member.h"

#include <deque>
#include <string>
#include <vector>

#include "catch.h"
#include "fake_etcd.h"
#include "safelaunch/base/format.h"

namespace safelaunch::agree {
namespace {

using namespace std::chrono_literals;
using testing::FakeEtcd;

BoardConfig etcd_config(const std::string& token = "the token of this test") {
  BoardConfig config;
  config.address = {Address::Backend::etcd, {"gpu-0:2379"}};
  config.terms = {.lease = 10s, .renew_every = 2s, .kill_margin = 3s};
  config.token = token;
  config.token_from = "/home/me/token";
  return config;
}

/// An event in one line: "seated 0/5", "word 5.1 go", "confirmed".
std::string in_words(const BoardEvent& event) {
  struct Words {
    std::string operator()(const Seated& one) const {
      return fmt::format("seated {}", one.seat.number);
    }
    std::string operator()(const Parked& one) const { return "parked: " + one.why; }
    std::string operator()(const Confirmed&) const { return "confirmed"; }
    std::string operator()(const WordCame& one) const {
      return fmt::format("word {} {}", one.word.number, one.word.text);
    }
    std::string operator()(const StandingCame& one) const {
      return fmt::format("standing {} {} '{}'", one.standing.seat, one.standing.host,
                         one.standing.text);
    }
    std::string operator()(const SeatVacated& one) const {
      return fmt::format("vacated {}", one.seat);
    }
    std::string operator()(const Unseated& one) const { return "unseated: " + one.why; }
    std::string operator()(const Unreachable& one) const { return "unreachable: " + one.why; }
    std::string operator()(const Refused& one) const { return "refused: " + one.error.message; }
    std::string operator()(const TurnedAway& one) const { return "away: " + one.who_and_why; }
  };
  return std::visit(Words{}, event);
}

/// An etcd and the time.
struct EtcdWorld {
  FakeEtcd etcd;
  TimePoint now{1h};
  bool silent = false;  ///< nobody gets an answer
};

/// One agent, with all that it has heard and asked for since it was last looked at.
struct EtcdAgent {
  EtcdWorld& world;
  EtcdMember member;
  Wishes wishes{};
  std::vector<std::string> heard{};
  std::vector<std::string> paths{};
  std::uint64_t generation = 0;
  bool left = false;

  EtcdAgent(EtcdWorld& etcd, char digit, std::optional<int> seat, int seats = 2,
            const BoardConfig& config = etcd_config())
      : world(etcd), member(config) {
    claim(digit, seat, seats);
  }

  void claim(char digit, std::optional<int> seat, int seats) {
    wishes.claim = Claim{std::string(32, digit), seat, seats, "job", std::string("host-") + digit};
    ++wishes.claims;
  }
  void publish(const std::string& text) {
    wishes.text = std::make_shared<const std::string>(text);
    ++wishes.version;
  }
  void say(std::uint64_t number, const std::string& text) {
    wishes.words.push_back({generation, number, text});
  }

  void note() {
    const Outcome outcome = member.told();
    take_note(wishes, outcome);
    left = left || outcome.left;
    for (const BoardEvent& event : outcome.events) {
      if (const auto* seated = std::get_if<Seated>(&event)) generation = seated->seat.generation;
      heard.push_back(in_words(event));
    }
  }

  /// Asks one question, if there is one; `lost`: etcd does what it is asked, and nobody hears it.
  bool ask(bool lost = false) {
    const auto request = member.next(wishes, world.now);
    note();
    if (!request) return false;
    paths.push_back(std::string(request->path.substr(request->path.rfind('/') + 1)));
    Result<std::string> answer = Error{Errc::peer_lost, "etcd at gpu-0:2379 has gone"};
    if (!world.silent) {
      Result<std::string> given = world.etcd.answer(request->path, request->body, world.now);
      if (!lost) answer = std::move(given);
    }
    member.answered(answer, world.now);
    note();
    return true;
  }
  /// Asks all that there is to ask now.
  void settle() {
    for (int i = 0; ask(); ++i) REQUIRE(i < 50);
  }
  /// Lets a time pass, in steps that no renewal misses.
  void live_for(Duration time) {
    for (const TimePoint end = world.now + time; world.now < end; world.now += 250ms) settle();
    settle();
  }
  /// The news since the last call, without the confirmations.
  std::vector<std::string> news() {
    std::erase(heard, "confirmed");
    return std::exchange(heard, {});
  }
};

/// One that has asked all that there is to ask.
struct SettledAgent : EtcdAgent {
  template <class... Claim>
  explicit SettledAgent(Claim&&... claim) : EtcdAgent(claim...) {
    settle();
  }
};

using Lines = std::vector<std::string>;

}  // namespace

TEST_CASE("an agent that finds no board makes one, sits in it and is confirmed", "[etcd_member]") {
  EtcdWorld world;
  SettledAgent agent(world, 'a', 0);
  CHECK(agent.heard == Lines{"seated 0", "confirmed"});
  CHECK(agent.paths ==
        Lines{"txn", "grant", "grant", "txn", "txn", "keepalive", "txn", "keepalive"});
  CHECK(world.etcd.names() == "board seat/0");
  CHECK(agent.member.wake() == world.now + 300ms);
}

TEST_CASE("a holder renews its lease in time, and looks for news between", "[etcd_member]") {
  EtcdWorld world;
  SettledAgent agent(world, 'a', 0);
  agent.paths.clear();
  agent.heard.clear();
  world.now += 300ms;
  agent.settle();
  CHECK(agent.paths == Lines{"txn"});
  CHECK(agent.heard == Lines{});
  world.now += 1'700ms;
  agent.settle();
  CHECK(agent.paths == Lines{"txn", "keepalive", "txn"});
  CHECK(agent.heard == Lines{"confirmed"});
  agent.live_for(1min);
  CHECK(agent.news() == Lines{});
}

TEST_CASE("among a thousand nodes each looks once a second", "[etcd_member]") {
  EtcdWorld world;
  SettledAgent agent(world, 'a', 0, 1'000);
  CHECK(agent.member.wake() == world.now + 1s);
}

TEST_CASE("the leader hears of its members, and they hear its words", "[etcd_member]") {
  EtcdWorld world;
  SettledAgent leader(world, 'a', 0);
  SettledAgent member(world, 'b', std::nullopt);
  CHECK(member.news() == Lines{"seated 1"});
  member.publish("ready");
  member.settle();
  leader.say(1, "go");
  leader.live_for(500ms);
  CHECK(leader.news() == Lines{"seated 0", "word 1 go", "standing 1 host-b 'ready'"});
  CHECK(leader.wishes.words.empty());
  member.live_for(500ms);
  CHECK(member.news() == Lines{"word 1 go"});
  CHECK(member.generation == leader.generation);
}

TEST_CASE("an agent that finds its place held is told by whom, once", "[etcd_member]") {
  EtcdWorld world;
  SettledAgent first(world, 'a', 0);
  SettledAgent second(world, 'b', 1);
  EtcdAgent rival(world, 'c', 1);
  EtcdAgent spare(world, 'd', std::nullopt);
  rival.live_for(1s);
  spare.live_for(1s);
  CHECK(rival.news() == Lines{"parked: the place of node 1 is held by host-b"});
  CHECK(spare.news() == Lines{"parked: all 2 places are held, that of node 1 by host-b"});
}

TEST_CASE("a place is taken as soon as its holder has left, and the last one clears the board",
          "[etcd_member]") {
  EtcdWorld world;
  SettledAgent first(world, 'a', 0);
  SettledAgent second(world, 'b', 0);
  first.wishes.leaves = true;
  first.settle();
  CHECK(first.left);
  CHECK_FALSE(first.ask());
  second.live_for(500ms);
  CHECK(second.news() == Lines{"parked: the place of node 0 is held by host-a", "seated 0"});
  CHECK(second.generation > first.generation);
  second.wishes.leaves = true;
  second.settle();
  CHECK(world.etcd.keys.empty());
}

TEST_CASE("a holder whose lease is over is unseated, and its place is another's", "[etcd_member]") {
  EtcdWorld world;
  SettledAgent late(world, 'a', 0);
  late.news();
  world.now += 13'999ms;
  SettledAgent next(world, 'b', 0);
  CHECK(next.news() == Lines{"parked: the place of node 0 is held by host-a"});
  world.now += 1s;
  next.settle();
  CHECK(next.news() == Lines{"seated 0"});
  late.settle();
  CHECK(late.news() ==
        Lines{"unseated: etcd heard nothing from this agent for too long and ended its lease"});
}

TEST_CASE("what a former holder wants to publish or say is not taken", "[etcd_member]") {
  EtcdWorld world;
  SettledAgent late(world, 'a', 0);
  late.news();
  world.etcd.keys.erase(world.etcd.keys.find(
      "/safelaunch/job-" + world.etcd.keys.begin()->first.substr(16, 12) + "/seat/0"));
  late.publish("text");
  late.settle();
  CHECK(late.news() == Lines{"unseated: another agent has taken the place of node 0"});
  CHECK(late.wishes.text->empty());
}

TEST_CASE("a word that is not the next one costs its speaker the seat", "[etcd_member]") {
  EtcdWorld world;
  SettledAgent leader(world, 'a', 0);
  leader.say(1, "gather");
  leader.settle();
  leader.news();
  leader.say(3, "go");
  leader.settle();
  CHECK(leader.news() ==
        Lines{fmt::format("unseated: the board does not take word 3 of generation {0} from node "
                          "0: it is at word 1 of generation {0}",
                          leader.generation)});
  leader.live_for(500ms);
  CHECK(world.etcd.names() == "board word");
}

TEST_CASE("a word of a member is not taken", "[etcd_member]") {
  EtcdWorld world;
  SettledAgent leader(world, 'a', 0);
  SettledAgent member(world, 'b', 1);
  member.news();
  member.say(1, "go");
  member.settle();
  CHECK(member.news() ==
        Lines{fmt::format("unseated: the board does not take word 1 of generation {} from node "
                          "1: it is at word 0 of generation 0",
                          leader.generation)});
}

TEST_CASE("a word that is said twice is told once more, and stands once", "[etcd_member]") {
  EtcdWorld world;
  SettledAgent leader(world, 'a', 0);
  leader.say(1, "go");
  leader.settle();
  leader.news();
  leader.say(1, "go");
  leader.settle();
  CHECK(leader.wishes.words.empty());
  CHECK(leader.news() == Lines{});
}

TEST_CASE("a claim whose answer was lost is found by the next look", "[etcd_member]") {
  EtcdWorld world;
  EtcdAgent agent(world, 'a', 0);
  for (int i = 0; i < 3; ++i) agent.ask();
  agent.ask(true);
  CHECK(world.etcd.names() == "board seat/0");
  world.now += 100ms;
  agent.settle();
  CHECK(agent.heard == Lines{"seated 0", "confirmed"});
  CHECK(world.etcd.names() == "board seat/0");
}

TEST_CASE("a word whose answer was lost is not said a second time", "[etcd_member]") {
  EtcdWorld world;
  SettledAgent leader(world, 'a', 0);
  leader.news();
  leader.say(1, "go");
  leader.ask(true);
  CHECK(world.etcd.names() == "board seat/0 word");
  world.now += 100ms;
  leader.settle();
  CHECK(leader.news() == Lines{"word 1 go"});
  CHECK(leader.wishes.words.empty());
}

TEST_CASE("an etcd that does not answer is told after two failures, and asked ever more rarely",
          "[etcd_member]") {
  EtcdWorld world;
  world.silent = true;
  EtcdAgent agent(world, 'a', 0);
  std::vector<Duration> pauses;
  for (int i = 0; i < 6; ++i) {
    REQUIRE(agent.ask());
    CHECK(agent.heard.size() == static_cast<std::size_t>(i));
    pauses.push_back(std::chrono::duration_cast<Duration>(agent.member.wake() - world.now));
    world.now = agent.member.wake() - 1ms;
    CHECK_FALSE(agent.ask());
    world.now += 1ms;
  }
  CHECK(pauses == std::vector<Duration>{100ms, 200ms, 400ms, 800ms, 1s, 1s});
  CHECK(agent.heard.front() == "unreachable: etcd at gpu-0:2379 has gone");
}

TEST_CASE("of three servers three must fail before the user is told", "[etcd_member]") {
  EtcdWorld world;
  world.silent = true;
  BoardConfig config = etcd_config();
  config.address.hosts = {"a:1", "b:1", "c:1"};
  EtcdAgent agent(world, 'a', 0, 2, config);
  for (int i = 0; i < 3; ++i, world.now = agent.member.wake()) {
    CHECK(agent.heard.empty());
    agent.ask();
  }
  CHECK(agent.heard.size() == 1);
}

TEST_CASE("an answer that is none, or lacks what was asked for, is tried again after a pause",
          "[etcd_member]") {
  for (
      const char* answer :
      {"", "<html>", "[]", "{}", R"({"header": {"revision": "5"}, "succeeded": true})",
       R"({"header": {"revision": "5"}, "succeeded": true, "responses": [{"response_range": 3}]})"}) {
    INFO(answer);
    EtcdWorld world;
    EtcdAgent agent(world, 'a', 0);
    REQUIRE(agent.member.next(agent.wishes, world.now));
    agent.member.answered(std::string(answer), world.now);
    CHECK_FALSE(agent.member.next(agent.wishes, world.now));
    CHECK(agent.member.wake() == world.now + 100ms);
    world.now += 100ms;
    agent.settle();
    CHECK(agent.heard == Lines{"seated 0", "confirmed"});
  }
}

TEST_CASE("a holder whose look is answered without the word and the leader's seat pauses",
          "[etcd_member]") {
  EtcdWorld world;
  SettledAgent agent(world, 'a', 0);
  agent.heard.clear();
  world.now += 300ms;
  REQUIRE(agent.member.next(agent.wishes, world.now));
  agent.member.answered(
      std::string(R"({"header": {"revision": "9"}, "succeeded": true, "responses": []})"),
      world.now);
  CHECK_FALSE(agent.member.next(agent.wishes, world.now));
  world.now += 100ms;
  agent.settle();
  CHECK(agent.heard == Lines{});
}

TEST_CASE("agents with another token are refused, with the file to copy", "[etcd_member]") {
  EtcdWorld world;
  SettledAgent agent(world, 'a', 0);
  SettledAgent other(world, 'b', 1, 2, etcd_config("another token of this test"));
  CHECK(other.news() ==
        Lines{"refused: the agents of this job at etcd://gpu-0:2379 use another token than "
              "/home/me/token; copy one token file to all nodes, or name one with --token-file"});
  world.now += 1h;
  CHECK_FALSE(other.ask());
}

TEST_CASE("a seat that somebody without the token has written is held by nobody known",
          "[etcd_member]") {
  EtcdWorld world;
  SettledAgent agent(world, 'a', 0);
  const std::string seat_0 = world.etcd.keys.rbegin()->first;
  FakeEtcd::Entry forged = world.etcd.keys.at(seat_0);
  world.etcd.keys[seat_0.substr(0, seat_0.size() - 1) + "1"] = forged;
  SettledAgent other(world, 'b', 1);
  CHECK(other.news() == Lines{"parked: the place of node 1 is held by somebody without our token"});
  agent.live_for(1s);
  CHECK(agent.news() == Lines{"seated 0", "standing 1 somebody without our token ''"});
}

TEST_CASE("a node that the job does not have is refused before etcd is asked", "[etcd_member]") {
  EtcdWorld world;
  using Wish = std::pair<std::optional<int>, int>;
  for (const auto& [seat, seats] : {Wish{2, 2}, Wish{-1, 2}, Wish{std::nullopt, 0}}) {
    EtcdAgent agent(world, 'a', seat, seats);
    CHECK_FALSE(agent.ask());
    CHECK(agent.heard == Lines{fmt::format("refused: there is no node {} among {} nodes",
                                           seat.value_or(0), seats)});
  }
}

TEST_CASE("an agent with other terms is refused once the board's holder is seen to live",
          "[etcd_member]") {
  EtcdWorld world;
  SettledAgent holder(world, 'a', 0);
  EtcdAgent other(world, 'b', 1, 3);
  for (int i = 0; i < 30; ++i) {
    other.settle();
    holder.live_for(250ms);
  }
  CHECK(
      other.news() ==
      Lines{
          "parked: the board of this job at etcd://gpu-0:2379 is an earlier one (the board is for "
          "2 nodes, and this node expects 3); this agent replaces it once its leases are over",
          "refused: the board of this job at etcd://gpu-0:2379 is in use, but the board is for 2 "
          "nodes, and this node expects 3; start all agents of a job with the same options"});
}

TEST_CASE("the board of a killed run is replaced by one with other terms", "[etcd_member]") {
  EtcdWorld world;
  SettledAgent killed(world, 'a', 0);
  EtcdAgent other(world, 'b', 0, 3);
  other.live_for(15s);
  CHECK(other.news().back() == "seated 0");
  CHECK(world.etcd.names() == "board seat/0");
}

TEST_CASE("members hear that their leader is gone, and the next one goes on from its words",
          "[etcd_member]") {
  EtcdWorld world;
  SettledAgent leader(world, 'a', 0);
  leader.say(1, "go");
  leader.settle();
  SettledAgent member(world, 'b', 1);
  leader.wishes.leaves = true;
  leader.settle();
  member.live_for(500ms);
  CHECK(member.news() == Lines{"seated 1", "word 1 go", "vacated 0"});
  SettledAgent late(world, 'd', 1);
  CHECK(late.news() == Lines{"parked: the place of node 1 is held by host-b"});

  EtcdAgent next(world, 'c', 0);
  next.live_for(500ms);
  CHECK(next.news() == Lines{"seated 0", "word 1 go", "standing 1 host-b ''"});
  next.say(2, "stop");
  next.settle();
  member.live_for(500ms);
  CHECK(member.news() == Lines{"word 2 stop"});
}

TEST_CASE("the leader is told that a member has gone, and of the one in its place",
          "[etcd_member]") {
  EtcdWorld world;
  SettledAgent leader(world, 'a', 0);
  SettledAgent member(world, 'b', 1);
  leader.live_for(500ms);
  leader.news();
  member.wishes.leaves = true;
  member.settle();
  leader.live_for(1s);
  CHECK(leader.news() == Lines{"vacated 1"});
  SettledAgent next(world, 'c', 1);
  leader.live_for(500ms);
  CHECK(leader.news() == Lines{"standing 1 host-c ''"});
}

TEST_CASE("an agent that leaves before it has a seat asks for nothing more", "[etcd_member]") {
  EtcdWorld world;
  EtcdAgent agent(world, 'a', 0);
  agent.wishes.leaves = true;
  CHECK_FALSE(agent.ask());
  CHECK(agent.left);
}

TEST_CASE("a question waits a quarter of the lease for its answer, between a half and two seconds",
          "[etcd_member]") {
  const auto patience = [](Duration lease) {
    BoardConfig config = etcd_config();
    config.terms.lease = lease;
    return EtcdMember(config).patience();
  };
  CHECK(std::vector<Duration>{patience(1s), patience(4s), patience(1min)} ==
        std::vector<Duration>{500ms, 1s, 2s});
}

}  // namespace safelaunch::agree
