#pragma once

#include <string>
#include <vector>

#include "safelaunch/diagnose/diagnosis.h"

namespace safelaunch::diagnose {

/// "rank 2", "ranks 0, 1 and 3", "ranks 0-6 and 8".
[[nodiscard]] std::string list_of(std::vector<Rank> ranks);

/// What happened, in one or two sentences: the stage, who waited, who was missing and what it did,
/// or who failed first and how. `diagnosis` has all but this.
[[nodiscard]] std::string explanation(const Evidence& evidence, const Diagnosis& diagnosis);

}  // namespace safelaunch::diagnose
