#pragma once

#include <span>

#include "nvml.h"
#include "safelaunch/gpu/gpu_facts.h"

namespace safelaunch::gpu {

/// A GPU as NVML hands it out, or the reason why it does not.
struct Handle {
  nvmlDevice_t device = nullptr;
  nvmlReturn_t result = NVML_SUCCESS;
};

/// All that NVML tells of one GPU. `gpus` are all of the host, in NVML's order: the GPU's paths
/// lead to the others.
[[nodiscard]] Gpu ask_about_gpu(const Nvml& nvml, std::span<const Handle> gpus, int index);

}  // namespace safelaunch::gpu
