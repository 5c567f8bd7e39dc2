#include "launcher/agree/tcp_agent.h"

#include "catch.h"

namespace safelaunch::agree {
namespace {

using namespace std::chrono_literals;
using Catch::Matchers::ContainsSubstring;

const std::string kAgentToken = "the token that all agents share";
const TimePoint kAgentStart{1'000s};

BoardConfig config() {
  BoardConfig config;
  config.address = {Address::Backend::tcp, {"gpu-0:29400"}};
  config.token = kAgentToken;
  config.token_from = "/home/me/.config/safelaunch/token";
  return config;
}

const Claim kClaim{"ab12", 1, 2, "job-7", "gpu-1"};

/// The other end of the connection, and what the agent asked for.
struct Story {
  TcpAgent agent{config()};
  TimePoint now = kAgentStart;
  std::string board_token = kAgentToken;
  BoardHandshake handshake{};
  std::optional<Session> session{};
  std::vector<TcpAgent::Action> done{};  ///< the actions other than sending
  /// The messages that the board was sent, since it was asked last.
  std::vector<wire::FromAgent> heard{};
  std::vector<std::string> handshake_bodies{};

  void take(const TcpAgent::Actions& actions) {
    for (const TcpAgent::Action& action : actions) {
      const auto* send = std::get_if<TcpAgent::Send>(&action);
      if (send == nullptr) {
        done.push_back(action);
        continue;
      }
      const std::string body = send->frame.substr(4);
      if (!session) {
        handshake_bodies.push_back(body);
        continue;
      }
      const auto opened = session->incoming.open(body);
      REQUIRE(opened.has_value());
      heard.push_back(wire::agent_message(*opened).value());
    }
  }

  void shake_hands() {
    take(agent.connected(now));
    handshake = {};
    take(agent.came(handshake.greeting(), now));
    auto answer = handshake.judge(handshake_bodies.back(), board_token, "job-7");
    session = std::move(answer.session);
    take(agent.came(answer.verdict, now));
  }

  void tell(const wire::FromBoard& message) {
    take(agent.came(session->outgoing.close(wire::bytes_of(message)).substr(4), now));
  }

  void breaks(const std::string& why = "has closed the connection") {
    session.reset();
    take(agent.broken(why, now));
  }

  /// Lets the time come for which the agent waits.
  void wait() {
    REQUIRE(agent.deadline().has_value());
    now = std::max(now, *agent.deadline());
    take(agent.time_passed(now));
  }

  template <class Message>
  [[nodiscard]] std::vector<Message> sent() {
    std::vector<Message> found;
    for (const wire::FromAgent& one : heard)
      if (const auto* message = std::get_if<Message>(&one)) found.push_back(*message);
    return found;
  }
  template <class Action>
  [[nodiscard]] std::vector<Action> told() {
    std::vector<Action> found;
    for (const TcpAgent::Action& one : done)
      if (const auto* action = std::get_if<Action>(&one)) found.push_back(*action);
    return found;
  }
  void forget() {
    done.clear();
    heard.clear();
  }
};

Story talking() {
  Story story;
  story.take(story.agent.claim(kClaim, story.now));
  story.shake_hands();
  return story;
}

Story seated() {
  Story story = talking();
  story.tell(Seated{{1, 5}});
  story.tell(wire::Confirms{1, true});
  story.forget();
  return story;
}

TEST_CASE("an agent connects when it claims, proves itself and claims its seat", "[tcp_agent]") {
  Story story;
  CHECK_FALSE(story.agent.deadline().has_value());
  story.take(story.agent.claim(kClaim, story.now));
  CHECK(story.told<TcpAgent::Connect>().size() == 1);
  story.shake_hands();
  REQUIRE(story.sent<wire::ClaimsSeat>().size() == 1);
  CHECK(story.sent<wire::ClaimsSeat>()[0].claim.incarnation == "ab12");
  CHECK(story.sent<wire::ClaimsSeat>()[0].claim.seat == 1);
  CHECK(story.sent<wire::Renews>().size() == 1);
  story.tell(Seated{{1, 5}});
  CHECK(story.told<Seated>()[0].seat == Seat{1, 5});
}

TEST_CASE("a confirmation counts from when the renewal was sent", "[tcp_agent]") {
  Story story = seated();
  story.wait();
  REQUIRE(story.sent<wire::Renews>().size() == 1);
  const TimePoint sent = story.now;
  CHECK(sent == kAgentStart + Terms{}.renew_every);
  story.now += 1s;
  story.tell(wire::Confirms{story.sent<wire::Renews>()[0].number, true});
  REQUIRE(story.told<Confirmed>().size() == 1);
  CHECK(story.told<Confirmed>()[0].sent == sent);
}

TEST_CASE("an agent without a seat is answered, and not confirmed", "[tcp_agent]") {
  Story story = talking();
  story.tell(Parked{"gpu-1 holds it"});
  story.tell(wire::Confirms{1, false});
  CHECK(story.told<Parked>()[0].why == "gpu-1 holds it");
  CHECK(story.told<Confirmed>().empty());
}

TEST_CASE("an answer to a renewal of an earlier connection confirms nothing", "[tcp_agent]") {
  Story story = seated();
  story.wait();
  const auto number = story.sent<wire::Renews>().at(0).number;
  story.breaks();
  story.wait();
  story.shake_hands();
  story.tell(wire::Confirms{number, true});
  CHECK(story.told<Confirmed>().empty());
}

TEST_CASE("a confirmation that allows nothing any more is not told", "[tcp_agent]") {
  Story story = seated();
  story.wait();
  story.now += Terms{}.lease;  // the process was stopped
  story.tell(wire::Confirms{story.sent<wire::Renews>().at(0).number, true});
  CHECK(story.told<Confirmed>().empty());
}

TEST_CASE("a holder that comes back and is parked is told that it has lost its seat",
          "[tcp_agent]") {
  Story story = seated();
  story.breaks();
  story.wait();
  story.shake_hands();
  story.tell(Parked{"gpu-9 holds it"});
  CHECK(story.told<Parked>().empty());
  REQUIRE(story.told<Unseated>().size() == 1);
  CHECK(story.told<Unseated>()[0].why == "gpu-9 holds it");
  CHECK_FALSE(story.agent.deadline().has_value());
}

TEST_CASE("a broken connection is made again within a second, however often it breaks",
          "[tcp_agent]") {
  Story story;
  story.take(story.agent.claim(kClaim, story.now));
  for (int i = 0; i < 20; ++i) {
    story.done.clear();
    story.breaks("refuses connections");
    REQUIRE(story.told<Unreachable>().size() == 1);
    CHECK_THAT(story.told<Unreachable>()[0].why,
               ContainsSubstring("tcp://gpu-0:29400 refuses connections"));
    const TimePoint broke = story.now;
    story.wait();
    CHECK(story.told<TcpAgent::Connect>().size() == 1);
    CHECK(story.now - broke <= 1s);
  }
}

TEST_CASE("the newest text is published again over a new connection, once there is a seat",
          "[tcp_agent]") {
  Story story = seated();
  story.take(story.agent.publish("one"));
  CHECK(story.sent<wire::Publishes>().at(0).text == "one");
  story.breaks();
  story.take(story.agent.publish("two"));
  story.forget();
  story.wait();
  story.shake_hands();
  CHECK(story.sent<wire::Publishes>().empty());
  story.tell(Seated{{1, 5}});
  REQUIRE(story.sent<wire::Publishes>().size() == 1);
  CHECK(story.sent<wire::Publishes>()[0].text == "two");
}

TEST_CASE("a word that the board has is not said again, and one that it lacks is", "[tcp_agent]") {
  Story story = seated();
  story.take(story.agent.say({5, 1, "go"}));
  CHECK(story.sent<wire::Says>().size() == 1);
  story.breaks();
  story.forget();
  story.wait();
  story.shake_hands();
  story.tell(Seated{{0, 5}});
  const bool has_it = GENERATE(true, false);
  if (has_it) story.tell(WordCame{{5, 1, "go"}});
  const auto number = story.sent<wire::Renews>().at(0).number;
  story.tell(wire::Confirms{number, true});
  CHECK(story.sent<wire::Says>().size() == (has_it ? 0 : 1));
}

TEST_CASE("a board that has fallen silent is left, and tried again", "[tcp_agent]") {
  Story story = seated();
  for (int i = 0; i < 10 && story.told<Unreachable>().empty(); ++i) story.wait();
  REQUIRE(story.told<Unreachable>().size() == 1);
  CHECK(story.told<TcpAgent::Disconnect>().size() == 1);
  CHECK(story.now - kAgentStart < Terms{}.lease);
}

TEST_CASE("a connection that never becomes one, and a board that never greets, are given up",
          "[tcp_agent]") {
  Story story;
  story.take(story.agent.claim(kClaim, story.now));
  if (GENERATE(true, false)) story.take(story.agent.connected(story.now));
  story.wait();
  CHECK(story.told<Unreachable>().size() == 1);
  CHECK(story.now - kAgentStart < Terms{}.lease);
}

TEST_CASE("another program at a port that a notice has named is no board, and tried again",
          "[tcp_agent]") {
  BoardConfig found = config();
  found.address = {Address::Backend::file, {}, "/shared"};
  Story story{.agent = TcpAgent(found), .board_token = "the token of somebody else here"};
  story.take(story.agent.claim(kClaim, story.now));
  story.shake_hands();
  REQUIRE(story.told<Unreachable>().size() == 1);
  CHECK(story.told<Refused>().size() == 0);
}

TEST_CASE("what forbids to connect ends the agent; what only prevents it does not", "[tcp_agent]") {
  Story story;
  story.take(story.agent.claim(kClaim, story.now));
  story.take(story.agent.not_connected({Errc::peer_lost, "is not there yet"}, story.now));
  CHECK(story.told<Refused>().size() == 0);
  story.take(story.agent.not_connected({Errc::bad_config, "this is no folder"}, story.now));
  CHECK(story.told<Refused>().size() == 1);
  CHECK_FALSE(story.agent.deadline());
}

TEST_CASE("different tokens are told once, with the file to copy, and not tried again",
          "[tcp_agent]") {
  Story story;
  story.board_token = "the token of somebody else here";
  story.take(story.agent.claim(kClaim, story.now));
  story.shake_hands();
  REQUIRE(story.told<Refused>().size() == 1);
  CHECK_THAT(story.told<Refused>()[0].error.message,
             ContainsSubstring("/home/me/.config/safelaunch/token on gpu-1") &&
                 ContainsSubstring("tcp://gpu-0:29400"));
  CHECK_FALSE(story.agent.deadline().has_value());
}

TEST_CASE("an altered frame ends the connection, not the agent", "[tcp_agent]") {
  Story story = seated();
  std::string body = story.session->outgoing.close(wire::bytes_of(Seated{{0, 9}})).substr(4);
  body[3] = static_cast<char>(body[3] ^ 1);
  story.take(story.agent.came(body, story.now));
  CHECK(story.told<Seated>().empty());
  CHECK(story.told<Unreachable>().size() == 1);
}

TEST_CASE("an agent that is not a holder any more forgets what it published, and may claim again",
          "[tcp_agent]") {
  Story story = seated();
  story.take(story.agent.publish("one"));
  story.tell(Unseated{"gpu-9 holds the seat"});
  CHECK(story.told<Unseated>().at(0).why == "gpu-9 holds the seat");
  CHECK_FALSE(story.agent.deadline().has_value());
  story.forget();
  story.session.reset();
  story.take(story.agent.claim({"cd34", 1, 2, "job-7", "gpu-1"}, story.now));
  CHECK(story.told<TcpAgent::Connect>().size() == 1);
  story.shake_hands();
  story.tell(Seated{{1, 6}});
  CHECK(story.sent<wire::Publishes>().empty());
}

TEST_CASE("an agent that leaves is gone when the board says so, or after a second", "[tcp_agent]") {
  Story story = seated();
  story.take(story.agent.leave(story.now));
  CHECK(story.sent<wire::Leaves>().size() == 1);
  CHECK(story.told<TcpAgent::Gone>().empty());
  SECTION("the board answers") {
    story.tell(wire::LetsGo{});
  }
  SECTION("the board does not answer") {
    story.wait();
  }
  SECTION("the connection breaks, and no other one comes") {
    story.breaks();
    while (story.agent.deadline()) story.wait();
  }
  SECTION("the connection breaks, and the next one takes it") {
    story.breaks();
    story.heard.clear();
    story.wait();
    story.shake_hands();
    CHECK(story.sent<wire::Leaves>().size() == 1);
    story.tell(wire::LetsGo{});
  }
  CHECK(story.told<TcpAgent::Gone>().size() == 1);
  CHECK(story.now - kAgentStart <= 1s);
  CHECK_FALSE(story.agent.deadline().has_value());
}

TEST_CASE("an agent that never claimed leaves at once", "[tcp_agent]") {
  Story story;
  story.take(story.agent.leave(story.now));
  CHECK(story.told<TcpAgent::Gone>().size() == 1);
}

}  // namespace
}  // namespace safelaunch::agree
