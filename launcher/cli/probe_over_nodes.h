#pragma once

#include "probe_plan.h"

namespace safelaunch::cli {

/// Probes together with the other nodes; the plan has a party. Returns the status to exit with, on
/// all nodes the same.
[[nodiscard]] int probe_over_nodes(ProbePlan plan);

}  // namespace safelaunch::cli
