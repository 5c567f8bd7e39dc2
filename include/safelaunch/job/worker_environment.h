#pragma once

#include <string>

#include "safelaunch/base/environment.h"
#include "safelaunch/job/topology.h"

namespace safelaunch::job {

/// What is the same for all workers of one run, and does not follow from the topology.
struct RunIdentity {
  std::string run_id;
  std::string error_folder;  ///< where torch's @record writes the exception of a rank
};

/// The variables that make a process worker `local_rank` of the plan, to be set over `inherited`:
/// all that torchrun exports, and what jax.distributed.initialize reads. The plan's port must have
/// been chosen.
[[nodiscard]] Environment worker_environment(const SpawnPlan& plan, int local_rank,
                                             const RunIdentity& run, const Environment& inherited);

}  // namespace safelaunch::job
