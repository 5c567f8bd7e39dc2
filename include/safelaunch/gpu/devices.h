#pragma once

#include <span>

#include "safelaunch/base/environment.h"
#include "safelaunch/gpu/facts.h"

namespace safelaunch::gpu {

/// The devices that a job is given, as words for CUDA_VISIBLE_DEVICES: those that the variable
/// leaves of the GPUs that NVML found, well or not. As CUDA does, it stops at the first word that
/// is no device here. Without the variable every GPU counts.
[[nodiscard]] std::vector<std::string> visible_devices(const Facts& facts,
                                                       const Environment& environment);

/// The devices that this node's workers may share out. CUDA_VISIBLE_DEVICES counts as above.
/// Without it only usable GPUs count; where all are in MIG mode, only the first slice of all does,
/// since a process sees no more than one.
[[nodiscard]] std::vector<std::string> usable_devices(const Facts& facts,
                                                      const Environment& environment);

/// Finds the GPU that such a word names ("1", "GPU-8932", "MIG-…"); nullptr where it names none or
/// several.
[[nodiscard]] const Gpu* gpu_of_device(std::span<const Gpu> gpus, std::string_view device);

/// Whether one of the words names the GPU, which is one of `gpus`.
[[nodiscard]] bool is_one_of(const Gpu& gpu, std::span<const std::string> devices,
                             std::span<const Gpu> gpus);

/// True where a program can be started on the GPU.
[[nodiscard]] bool is_usable(const Gpu& gpu);

}  // namespace safelaunch::gpu
