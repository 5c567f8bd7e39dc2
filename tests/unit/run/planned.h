#pragma once

#include <string>
#include <vector>

#include "safelaunch/plan/plan.h"

namespace safelaunch::testing {

inline const std::vector<std::string> kTorchrun{"torchrun", "--nproc-per-node=4", "train.py"};

inline settings::RunOptions options_for(std::vector<std::string> command) {
  settings::RunOptions options;
  options.command = std::move(command);
  return options;
}

/// Of a user whose home is empty.
inline Result<plan::RunPlan> planned(settings::RunOptions options,
                                     plan::Configuration configuration = {},
                                     Environment environment = {}) {
  environment.try_emplace("HOME", "/proc/nonexistent");
  return plan::make_plan(std::move(options), std::move(configuration), environment);
}

inline settings::RunOptions spawning(const std::string& workers) {
  settings::RunOptions options = options_for({"python3", "train.py"});
  options.nproc_per_node = workers;
  return options;
}

}  // namespace safelaunch::testing
