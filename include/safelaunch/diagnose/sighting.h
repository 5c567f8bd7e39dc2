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

}  // namespace safelaunch::diagnose
