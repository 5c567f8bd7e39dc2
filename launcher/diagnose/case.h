#pragma once

#include "safelaunch/base/first_failed.h"
#include "safelaunch/diagnose/catalogue.h"
#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/diagnose/evidence.h"

namespace safelaunch::diagnose {

/// The rank that failed first, and its exit status, as far as they are known or anybody's words
/// say.
struct FailedFirst {
  std::optional<Rank> rank;
  std::optional<ExitStatus> status;
};

/// The evidence, read before a cause is chosen. Lives no longer than its evidence and catalogue.
struct Case {
  const Evidence& evidence;
  const Catalogue& catalogue;
  std::vector<Sighting> sightings;  ///< sorted by weight, without those that mislead
  FirstSigns signs;                 ///< signs of which rank failed first, before a cause is known
  FailedFirst first;                ///< the rank that these signs point at
};

[[nodiscard]] Case open_case(const Evidence& evidence, const Catalogue& catalogue);

[[nodiscard]] inline bool hung(const Evidence& evidence) {
  return is_hang(evidence.failure.kind);
}

/// Whether the job waits, before its first collective or in training.
[[nodiscard]] inline bool stands_still(const Evidence& evidence) {
  return hung(evidence) || evidence.failure.kind == FailureKind::stalled;
}

/// Whether the job waits, and answers of the ranks, a silent driver or a standstill prove the
/// cause.
[[nodiscard]] bool proved(const Evidence& evidence, std::string_view cause);

/// The rank whose own lines show the cause; none if the cause is no reason by itself.
[[nodiscard]] std::optional<Rank> shows(const Cause& cause, const std::vector<Sighting>& lines);

/// The exit status of a rank: its own, or what its launcher surely says of it, or 1 after an
/// exception, or else the status of the command.
[[nodiscard]] std::optional<ExitStatus> status_of(const Evidence& evidence,
                                                  std::optional<Rank> rank);

/// Whether a stop ended the process, so that it did not choose its status itself.
[[nodiscard]] bool by_the_stop(const ExitStatus& status);

/// Whether the process ended by a failure of its own.
[[nodiscard]] bool chosen(const std::optional<ExitStatus>& status);

/// Whether the exception ended its rank. One that the script has caught has ended nothing.
[[nodiscard]] bool ended_its_rank(const RankRaised& raised, const Evidence& evidence);

/// The chosen cause, and how sure it is.
struct CauseChoice {
  const Cause* cause = nullptr;
  Certainty certainty = Certainty::guess;
};

/// Chooses the cause that the state of the system proves; else one that the output of the first
/// failing rank shows; else one that fits the stage. Facts of the host then confirm or refine it.
[[nodiscard]] CauseChoice choose(const Case& now);

/// Fills in the words on what happened: a headline, the places of missing ranks, and one or two
/// sentences: which ranks waited in which stage for which rank, or which rank failed first and how.
/// `diagnosis` is complete but for these.
void tell(const Evidence& evidence, Diagnosis& diagnosis);

}  // namespace safelaunch::diagnose
