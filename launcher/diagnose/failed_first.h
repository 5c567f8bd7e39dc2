#pragma once

#include <optional>
#include <vector>

#include "safelaunch/diagnose/evidence.h"
#include "safelaunch/diagnose/sighting.h"

namespace safelaunch {

/// The rank that failed first, as far as it is known who and how.
struct FailedFirst {
  std::optional<Rank> rank;
  std::optional<ExitStatus> status;
};

/// By the first exception that is no victim's and no symptom, else by the first exit, else by what
/// the launcher told. `raised` are the sightings of the evidence's exceptions.
[[nodiscard]] FailedFirst failed_first(const Evidence& evidence,
                                       const std::vector<Sighting>& raised);

/// How a rank ended, by its exit, the launcher's word, its exception, or the command's own status.
[[nodiscard]] std::optional<ExitStatus> status_of(const Evidence& evidence,
                                                  std::optional<Rank> rank);

}  // namespace safelaunch
