#pragma once

#include <vector>

namespace safelaunch {

/// A NUMA node and those of its CPUs that we may use.
struct NumaNode {
  int id = 0;
  std::vector<int> cpus;
};

}  // namespace safelaunch
