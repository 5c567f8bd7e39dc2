#include "launcher/agree/handshake.h"

#include <random>

#include "catch.h"

namespace safelaunch::agree {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kMeetingToken = "the token that all agents share";

struct Greeting {
  std::string token = kMeetingToken;
  std::string job = "job-7";
  BoardHandshake board;
  AgentHandshake agent{kMeetingToken, "job-7"};

  std::string introduction() { return agent.introduce(board.greeting()).value(); }
  BoardHandshake::Answer judge(std::string_view introduction) const {
    return board.judge(introduction, token, job);
  }
};

TEST_CASE("two with one token believe each other, and their frames open", "[handshake]") {
  Greeting meeting;
  BoardHandshake::Answer answer = meeting.judge(meeting.introduction());
  REQUIRE(answer.session.has_value());
  auto session = meeting.agent.conclude(answer.verdict);
  REQUIRE(session.has_value());
  const auto passes = [](Seal& from, Seal& to) {
    return to.open(from.close("text").substr(4)) == "text";
  };
  CHECK(passes(session->outgoing, answer.session->incoming));
  CHECK(passes(answer.session->outgoing, session->incoming));
  // A frame that is sent back to its maker does not open.
  CHECK_FALSE(passes(session->outgoing, session->incoming));
}

TEST_CASE("an agent with another token is refused, and knows for certain that the tokens differ",
          "[handshake]") {
  Greeting meeting;
  meeting.agent = AgentHandshake("another token of the same length", "job-7");
  const BoardHandshake::Answer answer = meeting.judge(meeting.introduction());
  CHECK_FALSE(answer.session.has_value());
  const auto session = meeting.agent.conclude(answer.verdict);
  REQUIRE(session.has_error());
  CHECK(session.error().kind == HandshakeError::Kind::other_token);
}

TEST_CASE("an impostor that welcomes everybody is not believed", "[handshake]") {
  Greeting meeting;
  meeting.token = "a token that was guessed, wrongly";
  const std::string introduction = meeting.introduction();
  Greeting impostor;  // it knows the job and the nonces, and makes a verdict of its own
  AgentHandshake accomplice(meeting.token, "job-7");
  const auto welcome =
      meeting.judge(accomplice.introduce(meeting.board.greeting()).value()).verdict;
  CHECK(meeting.agent.conclude(welcome).has_error());
}

TEST_CASE("an agent of another job is told so", "[handshake]") {
  Greeting meeting;
  meeting.agent = AgentHandshake(kMeetingToken, "job-8");
  const BoardHandshake::Answer answer = meeting.judge(meeting.introduction());
  CHECK_FALSE(answer.session.has_value());
  const auto session = meeting.agent.conclude(answer.verdict);
  REQUIRE(session.has_error());
  CHECK(session.error().kind == HandshakeError::Kind::refused);
  CHECK_THAT(session.error().why, ContainsSubstring("job-7") && ContainsSubstring("job-8"));
}

TEST_CASE("an introduction that was heard before opens nothing", "[handshake]") {
  Greeting meeting;
  const std::string heard = meeting.introduction();
  CHECK(meeting.judge(heard).session.has_value());
  CHECK_FALSE(BoardHandshake().judge(heard, kMeetingToken, "job-7").session.has_value());
}

TEST_CASE("a verdict that was heard before is not believed", "[handshake]") {
  Greeting meeting;
  const std::string heard = meeting.judge(meeting.introduction()).verdict;
  AgentHandshake later(kMeetingToken, "job-7");
  REQUIRE(later.introduce(meeting.board.greeting()).has_value());
  CHECK(later.conclude(heard).has_error());
}

TEST_CASE("no proof can be sent back to its maker", "[handshake]") {
  Greeting meeting;
  const std::string introduction = meeting.introduction();
  CHECK(meeting.agent.conclude(introduction).has_error());
  const std::string verdict = meeting.judge(introduction).verdict;
  CHECK_FALSE(meeting.judge(verdict).session.has_value());
}

TEST_CASE("a port where another program listens is no board, and is tried again", "[handshake]") {
  AgentHandshake agent(kMeetingToken, "job-7");
  for (const std::string_view bytes : {"", "HTTP/1.1 400 Bad Request", "safelaunch boar"}) {
    const auto introduction = agent.introduce(bytes);
    REQUIRE(introduction.has_error());
    CHECK(introduction.error().kind == HandshakeError::Kind::no_board);
  }
  std::string newer = BoardHandshake().greeting();
  newer[16] = 2;  // nobody has proven that it is a board
  CHECK(agent.introduce(newer).error().kind == HandshakeError::Kind::no_board);
}

TEST_CASE("every altered, cut or invented introduction and verdict is refused", "[handshake]") {
  Greeting meeting;
  const std::string introduction = meeting.introduction();
  const std::string verdict = meeting.judge(introduction).verdict;
  const auto gets_in = [&](std::string_view bytes) {
    return meeting.judge(bytes).session.has_value();
  };
  const auto believes = [&](std::string_view bytes) {
    return meeting.agent.conclude(bytes).has_value();
  };
  CHECK(gets_in(introduction));
  CHECK(believes(verdict));
  const auto tries = [](const std::string& good, const auto& accepted) {
    std::mt19937 chance(12);
    for (std::size_t at = 0; at < good.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string altered = good;
        altered[at] = static_cast<char>(altered[at] ^ (1 << bit));
        REQUIRE_FALSE(accepted(altered));
      }
      REQUIRE_FALSE(accepted(std::string_view(good).substr(0, at)));
      REQUIRE_FALSE(accepted(good + good.substr(at)));
    }
    std::string invented;
    for (int i = 0; i < 100'000; ++i) {
      invented.resize(chance() % 128);
      for (char& byte : invented) byte = static_cast<char>(chance());
      REQUIRE_FALSE(accepted(invented));
    }
  };
  tries(introduction, gets_in);
  tries(verdict, believes);
}

}  // namespace
}  // namespace safelaunch::agree
