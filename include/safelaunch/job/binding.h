#pragma once

#include <span>
#include <vector>

#include "safelaunch/base/numa_node.h"

namespace safelaunch::job {

/// Which CPUs a worker may run on.
enum class Binding {
  none,   ///< all
  numa,   ///< those of one NUMA node, shared with the other workers there
  cores,  ///< a share of one NUMA node for each worker alone
};

/// The CPUs of each worker, by local rank; an empty list means no binding. Neighbouring workers get
/// the same node, since GPUs are numbered along the nodes as well. Where a node has fewer CPUs than
/// workers, `cores` lets some share one.
[[nodiscard]] std::vector<std::vector<int>> bind_workers(Binding binding,
                                                         std::span<const NumaNode> nodes,
                                                         int workers);

}  // namespace safelaunch::job
