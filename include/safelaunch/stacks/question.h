#pragma once

#include <cstdint>

#include "safelaunch/base/event.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"

/// The question of `safelaunch stacks` to the safelaunch that runs a job, and its answer. Only that
/// one can speak with the hooks of the ranks.
namespace safelaunch::stacks {

/// The socket at which the safelaunch of a run is asked: to connect to it is the question, JSON up
/// to the end of the connection is the answer.
[[nodiscard]] std::string door_of(std::string_view run_id);

/// One rank, as the safelaunch that runs it knows it.
struct KnownRank {
  Rank rank;
  ProcessId process;
  std::string standing;  ///< "waits in group", "has reached imported"
  /// Its place in one line, as its hook has answered or its memory shows; empty: neither.
  std::string where;
  std::string frames;         ///< the frames of all its Python threads, one a line
  bool from_outside = false;  ///< read from its memory: it has not answered
  /// How many collectives it has finished, in all its groups; none: its torch does not count them.
  std::optional<std::int64_t> collectives{};
  bool operator==(const KnownRank&) const = default;
};

struct SupervisorAnswer {
  std::vector<KnownRank> ranks;
  bool operator==(const SupervisorAnswer&) const = default;
};

[[nodiscard]] std::string answer_text(const SupervisorAnswer& answer);

/// Reads it back; nullopt for what is no answer.
[[nodiscard]] std::optional<SupervisorAnswer> read_answer(std::string_view text);

/// The hooks have two seconds to answer, and their safelaunch some for itself.
inline constexpr Duration kSupervisorAnswersWithin{5'000};

/// Asks the safelaunch of a run. Error: it has no such socket (--no-hook, another network
/// namespace, it has just ended), or does not answer in time.
[[nodiscard]] Result<SupervisorAnswer> ask_supervisor(std::string_view run_id, Duration limit);

}  // namespace safelaunch::stacks
