#pragma once

#include "safelaunch/base/environment.h"
#include "safelaunch/job/command.h"
#include "safelaunch/job/topology.h"

namespace safelaunch::job {

/// The program that has started safelaunch on every node, one for each, as its variables tell. A
/// field that they do not tell is empty.
struct Starter {
  std::string name;  ///< "Slurm", "Open MPI", "Kubernetes"; empty: nothing of the kind
  int nodes = 1;
  std::optional<int> node{};         ///< the number of this node
  std::vector<std::string> hosts{};  ///< the hosts of all nodes, by number
  std::string job{};  ///< the starter's own name for the job (and the step): "slurm-4711.0"
  bool operator==(const Starter&) const = default;
};

/// Gives an empty Starter where several of us were started on one node: those are ranks, not
/// agents.
[[nodiscard]] Starter find_starter(const Environment& environment);

/// The number of this node by its starter, else by NODE_RANK or GROUP_RANK.
[[nodiscard]] std::optional<int> node_told(const Starter& starter, const Environment& environment);

/// Takes Slurm's short form of host names apart: "gpu[01-03,7],login" → gpu01 gpu02 gpu03 gpu7
/// login. Empty where it is none, or names more than 100,000 hosts.
[[nodiscard]] std::vector<std::string> expand_hosts(std::string_view list);

/// The place of this node in a job of several nodes, as the command, the options and whatever
/// started us on each node tell it. A field that nothing tells is empty.
struct Placement {
  int nodes = 1;
  std::optional<int> node;  ///< the number of this node, from 0 on
  std::string head;         ///< the host of node 0: where the ranks meet
  std::optional<int> port;  ///< the port on which the ranks meet there
  std::string job;          ///< names the job, with the same word on every node
  /// "Slurm", "Open MPI", "Kubernetes", …: the program that starts the same command on every node,
  /// so that each has an agent. Empty: somebody types the command on each node.
  std::string starter;
  /// The hosts of all nodes by their numbers, where the starter tells them.
  std::vector<std::string> hosts;
  bool operator==(const Placement&) const = default;
};

/// nullopt for a job of one node, and for one whose launcher decides on the number of nodes while
/// it runs (an elastic torchrun). `spawn` is set where safelaunch spawns the ranks itself.
[[nodiscard]] std::optional<Placement> find_placement(const Command& command,
                                                      const std::optional<SpawnPlan>& spawn,
                                                      const Environment& environment);

}  // namespace safelaunch::job
