#pragma once

#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/finding.h"
#include "safelaunch/gpu/facts.h"

namespace safelaunch::gpu {

/// The job, as far as it matters to what the GPUs' state means for it.
struct Use {
  std::optional<std::vector<std::string>> devices;  ///< its visible_devices; nullopt: all GPUs
  int ranks = 0;                                    ///< of the job on this node; 0: not known
  std::string cuda;           ///< that its framework was built for, "13.0"; empty: not known
  std::vector<int> own_pids;  ///< what holds memory and belongs to the job itself
};

/// What of the GPUs' state will make a job fail, or may: sick and lost GPUs, modes, a fabric that
/// is not up, a driver that is too old, memory that others hold. The causes are rows of the
/// catalogue.
[[nodiscard]] std::vector<Finding> gpu_findings(const Facts& facts, const Use& use);

}  // namespace safelaunch::gpu
