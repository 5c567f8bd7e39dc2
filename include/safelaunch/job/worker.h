#pragma once

#include <span>

#include "safelaunch/base/environment.h"
#include "safelaunch/job/topology.h"

namespace safelaunch::job {

/// The facts that are the same for all workers of one run and do not follow from the topology.
struct RunIdentity {
  std::string run_id;
  /// The folder in which torch's @record writes the exception of a rank; empty where nothing is
  /// recorded, and then @record is told no file.
  std::string error_folder;
};

/// The variables that make a process worker `local_rank` of the plan, to be set over `inherited`:
/// all that torchrun exports, and those that jax.distributed.initialize reads. The plan's port must
/// be chosen already.
[[nodiscard]] Environment worker_environment(const SpawnPlan& plan, int local_rank,
                                             const RunIdentity& run, const Environment& inherited);

/// The CPUs on which a worker may run.
enum class Binding {
  none,   ///< all CPUs
  numa,   ///< those of one NUMA node, which it shares with the other workers of that node
  cores,  ///< a share of one NUMA node, for this worker alone
};

/// The CPUs of each worker, by local rank; an empty list means no binding. `nodes` has the CPUs of
/// each NUMA node. Neighbouring workers get the same node, since GPUs are numbered along the nodes
/// as well. Where a node has fewer CPUs than workers, `cores` lets some workers share one.
[[nodiscard]] std::vector<std::vector<int>> bind_workers(Binding binding,
                                                         std::span<const std::vector<int>> nodes,
                                                         int workers);

}  // namespace safelaunch::job
