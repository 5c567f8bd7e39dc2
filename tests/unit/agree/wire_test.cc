#include "launcher/agree/wire.h"

#include <random>

#include "catch.h"

namespace safelaunch::agree::wire {
namespace {

std::vector<FromAgent> from_agents() {
  const Claim claim{"ab12", 3, 8, "", "gpu-17"};
  const Claim any{"ab12", std::nullopt, 8, "", "gpu-17"};
  return {ClaimsSeat{claim, {}},
          ClaimsSeat{any, {Duration(1), Duration(2), Duration(3)}},
          Renews{~0ULL},
          Publishes{"text"},
          Says{{7, 9, std::string("a\0b", 3)}},
          Leaves{}};
}

std::vector<FromBoard> from_boards() {
  return {Seated{{3, 7}},
          Parked{"why"},
          Confirms{1, true},
          WordCame{{1, 2, "x"}},
          StandingCame{{3, "ab", "host", "text"}},
          SeatVacated{4},
          Unseated{""},
          Refused{{Errc::usage, "no"}},
          LetsGo{}};
}

TEST_CASE("each message is read as it was written", "[wire]") {
  for (const FromAgent& message : from_agents()) {
    const std::string bytes = bytes_of(message);
    const Result<FromAgent> read = agent_message(bytes);
    REQUIRE(read.has_value());
    CHECK(read->index() == message.index());
    CHECK(bytes_of(*read) == bytes);
  }
  for (const FromBoard& message : from_boards()) {
    const std::string bytes = bytes_of(message);
    const Result<FromBoard> read = board_message(bytes);
    REQUIRE(read.has_value());
    CHECK(read->index() == message.index());
    CHECK(bytes_of(*read) == bytes);
  }
  const auto claimed = std::get<ClaimsSeat>(agent_message(bytes_of(from_agents()[1])).value());
  CHECK(claimed.claim == Claim{"ab12", std::nullopt, 8, "", "gpu-17"});
  CHECK(claimed.terms.kill_margin == Duration(3));
  CHECK(std::get<Confirms>(board_message(bytes_of(Confirms{7, true})).value()).holds);
  CHECK_FALSE(std::get<Confirms>(board_message(bytes_of(Confirms{7, false})).value()).holds);
  const auto refused = std::get<Refused>(board_message(bytes_of(from_boards()[7])).value());
  CHECK(refused.error.code == Errc::usage);
}

TEST_CASE("torn, lengthened and invented messages are errors or messages, never more", "[wire]") {
  for (const FromAgent& message : from_agents()) {
    const std::string bytes = bytes_of(message);
    for (std::size_t size = 0; size < bytes.size(); ++size)
      CHECK(agent_message(std::string_view(bytes).substr(0, size)).has_error());
    CHECK(agent_message(bytes + "x").has_error());
  }
  std::mt19937 chance(12);
  std::string invented;
  for (int i = 0; i < 100'000; ++i) {
    invented.resize(chance() % 48);
    for (char& byte : invented) byte = static_cast<char>(chance() % 16);
    if (const auto read = agent_message(invented)) REQUIRE(bytes_of(*read) == invented);
    if (const auto read = board_message(invented)) REQUIRE(bytes_of(*read) == invented);
  }
}

}  // namespace
}  // namespace safelaunch::agree::wire
