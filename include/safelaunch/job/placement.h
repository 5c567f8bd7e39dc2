#pragma once

#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/job/command.h"
#include "safelaunch/job/topology.h"

namespace safelaunch::job {

/// The place of this node in a job of several nodes, as the command, the options and whatever
/// started us on each node tell it. A field that nothing tells is empty.
struct Placement {
  int nodes = 1;
  std::optional<int> node;  ///< the number of this node, from 0 on
  std::string head;         ///< the host of node 0: where the ranks meet
  std::optional<int> port;  ///< on which they meet there
  std::string job;          ///< names the job, with the same word on every node
  /// "Slurm", "Open MPI", "Kubernetes", …: what starts the same command on every node, so that each
  /// has an agent. Empty: somebody types the command on each node.
  std::string starter;
  std::vector<std::string> hosts;  ///< of all nodes by their numbers, where the starter tells them
  bool operator==(const Placement&) const = default;
};

/// nullopt for a job of one node, and for one whose launcher decides on the number of nodes while
/// it runs (an elastic torchrun). `spawn` is set where safelaunch spawns the ranks itself.
[[nodiscard]] std::optional<Placement> find_placement(const Command& command,
                                                      const std::optional<SpawnPlan>& spawn,
                                                      const Environment& environment);

}  // namespace safelaunch::job
