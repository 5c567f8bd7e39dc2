#pragma once

#include <functional>
#include <span>

#include "nvml.h"
#include "safelaunch/gpu/facts.h"

namespace safelaunch::gpu {

/// A GPU as NVML hands it out, or the reason why NVML does not.
struct Handle {
  nvmlDevice_t device = nullptr;
  nvmlReturn_t result = NVML_SUCCESS;
};

/// Asks for everything that NVML tells of one GPU. `gpus` holds all of the host, in NVML's order,
/// because the paths of the GPU lead to the others.
[[nodiscard]] Gpu ask_about_gpu(const Nvml& nvml, std::span<const Handle> gpus, int index);

/// Asks about the driver and every GPU, and says the lines that facts_json.h reads, each as soon as
/// it is known. Gives the exit status of print_gpu_facts().
[[nodiscard]] int tell_gpu_facts(const Nvml& nvml,
                                 const std::function<void(const std::string& line)>& say);

}  // namespace safelaunch::gpu
