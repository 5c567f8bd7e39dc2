#pragma once

#include <variant>

#include "safelaunch/base/event.h"
#include "safelaunch/base/failure.h"
#include "safelaunch/base/time.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/evidence.h"

namespace safelaunch::diagnose {

/// A line that shows a cause.
struct Sighting {
  const Cause* cause = nullptr;
  Strength strength = Strength::proof;
  std::string line;
  std::optional<Rank> rank;
  std::string source;  ///< "stderr", "nccl.node7.4711", "exception", "exit status"
};

/// The causes that a text shows, each once a rank, in the order of their lines. A traceback that
/// shows no known cause counts as the user's own (`user-exception`).
[[nodiscard]] std::vector<Sighting> sightings(const Output& output, const Catalogue& catalogue);

/// The causes that an exception shows, which the hook reported.
[[nodiscard]] std::vector<Sighting> sightings(const RankRaised& exception,
                                              const Catalogue& catalogue);

/// The causes that an exit status fits: a rank killed by SIGBUS is all that NCCL 2.18 leaves of a
/// full /dev/shm.
[[nodiscard]] std::vector<Sighting> sightings(const ExitStatus& status, std::optional<Rank> rank,
                                              const Catalogue& catalogue);

/// Whether the sighting fits its cause and does not prove it: an exit status has several possible
/// reasons, and a hint is no failure.
[[nodiscard]] bool only_fits(const Sighting& one);

/// Sorts causes before symptoms before victims, and a cause before those that it beats; keeps the
/// order of the rest.
void sort_by_weight(std::vector<Sighting>& all);

/// Why safelaunch starts no further attempt.
enum class StopReason {
  users_own,        ///< the script failed by itself, or a rank ended by itself
  hopeless,         ///< every profile would fail alike: too little memory, an ill GPU
  stays_away,       ///< one rank never came to NCCL, where the others wait
  training_begun,   ///< a collective has completed; only the user knows what may run twice
  had_served,       ///< a server has answered requests
  training_unseen,  ///< nobody knows whether one has
  finished,         ///< the program had come to its end
  signalled,        ///< safelaunch received a signal to end
  autotuning,       ///< deepspeed's autotuner starts many runs itself
  port_of_user,     ///< the user, or the script, chose the port that is taken
  retries_used_up,  ///< a cause that should pass by itself did not
};

/// The reason as a clause that follows "No other attempt: ".
[[nodiscard]] const char* describe(StopReason reason);

struct Stop {
  StopReason reason = StopReason::users_own;
  bool operator==(const Stop&) const = default;
};

/// Try the next profile that may heal the cause.
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

/// How often one profile is tried again for causes that pass by themselves.
inline constexpr int kRetriesOfProfile = 2;

/// Whether the cause with this id is the script's own fault; then its own words tell most.
[[nodiscard]] bool is_users_own(std::string_view cause);

/// The reason why an attempt failed, and the step that follows.
struct Diagnosis {
  Failure failure;                   ///< the failure of the evidence, with its cause and first rank
  std::vector<Sighting> shown_by{};  ///< lines that show the cause, the best first; they point
                                     ///< into the catalogue
  std::vector<std::string> commands{};
  Decision decision{};
  /// The training had begun, and a start from its checkpoint may not meet the failure again.
  bool passes = false;
};

/// Names the cause of a failed attempt. The lines of the rank that failed first count before those
/// of its victims, and a specific cause before a general one. Pure.
[[nodiscard]] Diagnosis diagnose(const Evidence& evidence, const Catalogue& catalogue);

/// The ports that the attempt's output names as taken, each once. The host can then tell which
/// process holds them.
[[nodiscard]] std::vector<int> ports_said_taken(const Evidence& evidence,
                                                const Catalogue& catalogue);

/// The exit status of the job: that of the rank that failed first, even if the launcher hides it;
/// 124 for a hang; after a signal, 128 plus its number, unless a rank chose a status of its own. It
/// is 0 only if the ranks were told to end and did so in order.
[[nodiscard]] int exit_status_of(const Evidence& evidence, const Diagnosis& diagnosis);

}  // namespace safelaunch::diagnose
