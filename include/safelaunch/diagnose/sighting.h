#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// The causes that show in a text, each once a rank, in the order of their lines. A traceback that
/// shows no cause is the user's own (`user-exception`).
[[nodiscard]] std::vector<Sighting> sightings(const Output& output, const Catalogue& catalogue);

/// What an exception shows, which the hook reported.
[[nodiscard]] std::vector<Sighting> sightings(const RankRaised& exception,
                                              const Catalogue& catalogue);

/// What the way in which a rank ended fits: SIGBUS is all that NCCL 2.18 leaves of a full /dev/shm.
[[nodiscard]] std::vector<Sighting> sightings(const ExitStatus& status, std::optional<Rank> rank,
                                              const Catalogue& catalogue);

/// Whether this only fits: an exit status has several reasons, and a hint is not a failure.
[[nodiscard]] bool only_fits(const Sighting& one);

/// Puts causes before symptoms before victims, the more specific before what it beats, and
/// otherwise keeps the order.
void sort_by_weight(std::vector<Sighting>& all);

}  // namespace safelaunch::diagnose
