#pragma once

#include <vector>

#include "first_signs.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/evidence.h"
#include "safelaunch/diagnose/sighting.h"

namespace safelaunch::diagnose {

/// The rank that failed first, as far as it is known who and how.
struct FailedFirst {
  std::optional<Rank> rank;
  std::optional<ExitStatus> status;
};

/// What is derived from the evidence before a cause is chosen. Refers to evidence and catalogue.
struct Case {
  const Evidence& evidence;
  const Catalogue& catalogue;
  std::vector<Sighting> sightings;  ///< the weightiest first; without those that mislead
  FirstSigns signs;                 ///< of who failed first, before a cause is known
  FailedFirst first;                ///< by these
};

[[nodiscard]] Case open_case(const Evidence& evidence, const Catalogue& catalogue);

[[nodiscard]] inline bool hung(const Evidence& evidence) {
  return is_hang(evidence.failure.kind);
}

/// Before its first collective, or behind it.
[[nodiscard]] inline bool stands_still(const Evidence& evidence) {
  return hung(evidence) || evidence.failure.kind == FailureKind::stalled;
}

}  // namespace safelaunch::diagnose
