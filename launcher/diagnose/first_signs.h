#pragma once

#include <optional>
#include <vector>

#include "safelaunch/base/first_failed.h"
#include "safelaunch/diagnose/evidence.h"
#include "safelaunch/diagnose/sighting.h"

namespace safelaunch::diagnose {

/// What the evidence tells of who failed first. `raised` are the sightings of its exceptions.
[[nodiscard]] FirstSigns signs_of(const Evidence& evidence, const std::vector<Sighting>& raised);

/// The rank whose own lines show a cause, where that is a reason by itself.
[[nodiscard]] std::optional<Rank> shows(const Cause& cause, const std::vector<Sighting>& lines);

/// How a rank ended, by its exit, the launcher's word, its exception, or the command's own status.
[[nodiscard]] std::optional<ExitStatus> status_of(const Evidence& evidence,
                                                  std::optional<Rank> rank);

}  // namespace safelaunch::diagnose
