#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/environment.h"

namespace safelaunch::job {

/// What has started safelaunch on every node, one for each, as its variables tell. A field that
/// they do not tell is empty.
struct Starter {
  std::string name;  ///< "Slurm", "Open MPI", "Kubernetes"; empty: nothing of the kind
  int nodes = 1;
  std::optional<int> node{};         ///< the number of this one
  std::vector<std::string> hosts{};  ///< of all nodes, by number
  std::string job{};                 ///< its own name for the job (and the step): "slurm-4711.0"
  bool operator==(const Starter&) const = default;
};

/// Nothing where it has started several of us on a node: those are ranks, not agents.
[[nodiscard]] Starter find_starter(const Environment& environment);

/// Takes Slurm's short form of host names apart: "gpu[01-03,7],login" → gpu01 gpu02 gpu03 gpu7
/// login. Empty where it is none, or names more than 100,000 hosts.
[[nodiscard]] std::vector<std::string> expand_hosts(std::string_view list);

}  // namespace safelaunch::job
