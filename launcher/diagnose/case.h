#pragma once

#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/first_failed.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/diagnosis.h"
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

/// The rank whose own lines show a cause, where that is a reason by itself.
[[nodiscard]] std::optional<Rank> shows(const Cause& cause, const std::vector<Sighting>& lines);

/// How a rank ended, by its exit, the launcher's word, its exception, or the command's own status.
[[nodiscard]] std::optional<ExitStatus> status_of(const Evidence& evidence,
                                                  std::optional<Rank> rank);

/// The cause that is named, and how sure it is.
struct CauseChoice {
  const Cause* cause = nullptr;
  Certainty certainty = Certainty::guess;
};

/// What the state of the system proves; else what the texts of the first failing rank show; else
/// what fits the stage. The host's facts then confirm or refine it.
[[nodiscard]] CauseChoice choose(const Case& now);

/// "rank 2", "ranks 0, 1 and 3", "ranks 0-6 and 8".
[[nodiscard]] std::string list_of(std::vector<Rank> ranks);

/// What happened, in one or two sentences: the stage, who waited, who was missing and what it did,
/// or who failed first and how. `diagnosis` has all but this.
[[nodiscard]] std::string explanation(const Evidence& evidence, const Diagnosis& diagnosis);

}  // namespace safelaunch::diagnose
