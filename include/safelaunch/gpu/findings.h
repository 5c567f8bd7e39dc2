#pragma once

#include "safelaunch/base/finding.h"
#include "safelaunch/gpu/facts.h"
#include "safelaunch/gpu/visible.h"

namespace safelaunch::gpu {

/// The facts of a job that decide what a GPU's state means for it.
struct Use {
  /// The job's visible_devices; nullopt: all GPUs.
  std::optional<std::vector<std::string>> devices;
  int ranks = 0;     ///< ranks of the job on this node; 0: not known
  std::string cuda;  ///< the CUDA that its framework was built for, "13.0"; empty: not known
  std::vector<int> own_pids;  ///< processes that hold memory and belong to the job itself
  int gpus = 0;  ///< the GPUs that the job could use, as NVML lists them or else the kernel
};

/// Lists the states of the GPUs that will make a job fail, or may: sick and lost GPUs, modes, a
/// fabric that is not up, a driver that is too old, memory that others hold. The causes are rows of
/// the catalogue.
[[nodiscard]] std::vector<Finding> gpu_findings(const Facts& facts, const Use& use);

/// Adds where libcuda says otherwise than NVML: a program would hang in it, or finds none of the
/// GPUs that are here. Takes out what does not hold any more: CUDA may work without NVML.
void add_visible_findings(const VisibleGpus& visible, const Facts& nvml, const Use& use,
                          std::vector<Finding>& findings);

}  // namespace safelaunch::gpu
