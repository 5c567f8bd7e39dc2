#pragma once

#include <span>

#include "safelaunch/host/network.h"
#include "safelaunch/nodes/mesh.h"
#include "safelaunch/plan/plan.h"

namespace safelaunch::nodes {

/// The door of node 0 at the port where the ranks will meet. nullopt on another node, where it is
/// not known, and where torchrun's own rendezvous decides on it (c10d, etcd).
[[nodiscard]] std::optional<Door> master_door(const plan::RunPlan& plan, const NodeDoors& doors);

/// The addresses at which a node is to be reached, without ports: one an interface that is up, at
/// first those that the job uses. Containers' bridges and VPNs are left out where it does not, and
/// addresses that hold on one link alone.
[[nodiscard]] std::vector<Door> doors_to_open(std::span<const host::NetworkInterface> interfaces,
                                              const NodeDoors& used);

/// The doors of this node, without ports: asks the kernel for its interfaces and its route, and the
/// resolver for the master's name, for half a second at most.
[[nodiscard]] NodeDoors own_doors(const plan::RunPlan& plan);

}  // namespace safelaunch::nodes
