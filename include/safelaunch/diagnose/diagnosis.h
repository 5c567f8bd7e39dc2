#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/base/failure.h"
#include "safelaunch/base/time.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/evidence.h"
#include "safelaunch/diagnose/sighting.h"

namespace safelaunch::diagnose {

/// Why nothing is started again.
enum class StopReason {
  users_own,        ///< the script failed by itself, or a rank ended by itself
  hopeless,         ///< every profile would fail alike: memory, devices, versions, an ill GPU
  stays_away,       ///< the others are in NCCL, and a rank never went there
  training_begun,   ///< a collective was completed: only the user knows what may run twice
  finished,         ///< the program had come to its end
  signalled,        ///< somebody asked safelaunch to end
  autotuning,       ///< deepspeed's autotuner launches many times by itself
  port_of_user,     ///< the user, or the script, chose the port that is taken
  retries_used_up,  ///< what should have passed by itself did not
};

/// Ends the sentence "No other attempt: …".
[[nodiscard]] const char* describe(StopReason reason);

struct Stop {
  StopReason reason = StopReason::users_own;
  bool operator==(const Stop&) const = default;
};

/// Go on with the next profile that may heal the cause.
struct FallBack {
  bool operator==(const FallBack&) const = default;
};

/// Try the same profile again after a pause.
struct RetrySame {
  Duration backoff{0};
  enum class With { nothing_new, another_port } with = With::nothing_new;
  bool operator==(const RetrySame&) const = default;
};

using Decision = std::variant<Stop, FallBack, RetrySame>;

/// A profile is tried again so often for what passes by itself.
inline constexpr int kRetriesOfProfile = 2;

/// Whether a cause (its id) lies in the script itself, of which its own words tell most.
[[nodiscard]] bool is_users_own(std::string_view cause);

/// Why an attempt failed, and what to do about it.
struct Diagnosis {
  Failure failure;                   ///< the evidence's, with its cause and the rank that was first
  std::vector<Sighting> shown_by{};  ///< the lines that show it, the best first; their causes live
                                     ///< as long as the catalogue
  std::vector<std::string> commands{};
  Decision decision{};
};

/// Names the cause of a failed attempt: the first failing rank's rather than its victims', the more
/// specific rather than the general. Pure.
[[nodiscard]] Diagnosis diagnose(const Evidence& evidence, const Catalogue& catalogue);

/// The ports that the attempt's texts name as taken, each once: who holds them, the host can tell.
[[nodiscard]] std::vector<int> ports_said_taken(const Evidence& evidence,
                                                const Catalogue& catalogue);

/// With which status the command ended, or would have: that of the first rank that failed, also
/// where the launcher hides it; 124 for a hang; after a signal 128 and that, unless a rank chose a
/// status. 0 only where ranks that were told to end did so in order.
[[nodiscard]] int exit_status_of(const Evidence& evidence, const Diagnosis& diagnosis);

}  // namespace safelaunch::diagnose
