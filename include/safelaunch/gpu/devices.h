#pragma once

#include <span>
#include <string>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/gpu/facts.h"

namespace safelaunch::gpu {

/// The devices that a job is given, as words for CUDA_VISIBLE_DEVICES: what that variable leaves of
/// the GPUs that NVML found, well or not. As CUDA does, it stops at the first word that is no
/// device here. Without the variable: every GPU.
[[nodiscard]] std::vector<std::string> visible_devices(const Facts& facts,
                                                       const Environment& environment);

/// The devices that this node's workers may share out. With CUDA_VISIBLE_DEVICES as above; without
/// it, only GPUs that can be used, and where all are in MIG mode their first slice, since a process
/// sees no more than one.
[[nodiscard]] std::vector<std::string> usable_devices(const Facts& facts,
                                                      const Environment& environment);

/// The GPU that such a word means ("1", "GPU-8932", "MIG-…"); nullptr for none or several.
[[nodiscard]] const Gpu* gpu_of_device(std::span<const Gpu> gpus, std::string_view device);

/// True where a program can be started on the GPU.
[[nodiscard]] bool is_usable(const Gpu& gpu);

}  // namespace safelaunch::gpu
