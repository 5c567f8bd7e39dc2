#pragma once

#include <span>
#include <string>
#include <vector>

#include "mesh.h"
#include "safelaunch/host/network.h"
#include "safelaunch/run/plan.h"

namespace safelaunch::run {

/// The addresses at which a node is to be reached, without ports: one an interface that is up, at
/// first those that the job uses. Containers' bridges and VPNs are left out where it does not, and
/// addresses that hold on one link alone.
[[nodiscard]] std::vector<Door> doors_to_open(std::span<const host::NetworkInterface> interfaces,
                                              const NodeDoors& used);

/// This node, without ports: asks the kernel for its interfaces and its route, and the resolver for
/// the master's name, for half a second at most.
[[nodiscard]] NodeDoors own_doors(const RunPlan& plan);

}  // namespace safelaunch::run
