#pragma once

#include <cstdint>
#include <variant>

#include "safelaunch/agree/board.h"
#include "safelaunch/base/result.h"

/// The messages between an agent and the board of `tcp` once each has proven itself.
namespace safelaunch::agree::wire {

// From the agent.
struct ClaimsSeat {
  Claim claim;  ///< without the job, which the handshake has settled
  Terms terms;
};
/// "Am I still the holder?" The number comes back in Confirms, also where there is no seat.
struct Renews {
  std::uint64_t number = 0;
};
struct Publishes {
  std::string text;
};
struct Says {
  Word word;
};
struct Leaves {};
using FromAgent = std::variant<ClaimsSeat, Renews, Publishes, Says, Leaves>;

// From the board: its news (board.h) but for what the agent finds out by itself, and these.
struct Confirms {
  std::uint64_t number = 0;
  bool holds = false;  ///< whether the agent holds a seat
};
/// The answer to Leaves.
struct LetsGo {};
using FromBoard = std::variant<Seated, Parked, Confirms, WordCame, StandingCame, SeatVacated,
                               Unseated, Refused, LetsGo>;

[[nodiscard]] std::string bytes_of(const FromAgent& message);
[[nodiscard]] std::string bytes_of(const FromBoard& message);
/// The error: the bytes are no message. A peer that has proven itself and sends such bytes is of
/// another version.
[[nodiscard]] Result<FromAgent> agent_message(std::string_view bytes);
[[nodiscard]] Result<FromBoard> board_message(std::string_view bytes);

}  // namespace safelaunch::agree::wire
