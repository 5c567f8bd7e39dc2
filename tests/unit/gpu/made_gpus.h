#pragma once

#include <string>
#include <utility>
#include <vector>

#include "safelaunch/gpu/facts.h"

namespace safelaunch::testing {

/// A healthy H100 with nothing on it.
inline gpu::Gpu made_gpu(int index) {
  gpu::Gpu gpu;
  gpu.index = index;
  gpu.uuid = "GPU-0000000" + std::to_string(index) + "-0000-4000-8000-000000000000";
  gpu.name = "NVIDIA H100 80GB HBM3";
  gpu.pci = "00000000:" + std::to_string(index + 1) + "0:00.0";
  gpu.memory_mib = 81'920;
  gpu.compute_mode = gpu::ComputeMode::shared;
  gpu.fabric = gpu::FabricState::completed;
  gpu.recovery = "none";
  return gpu;
}

inline gpu::Gpu with_process(gpu::Gpu gpu, int pid, int mib) {
  gpu.processes.push_back({pid, mib});
  gpu.used_mib += mib;
  return gpu;
}

inline gpu::Gpu in_mig_mode(gpu::Gpu gpu, int slices) {
  gpu.mig = true;
  for (int i = 0; i < slices; ++i)
    gpu.slices.push_back(
        {"MIG-0000000" + std::to_string(gpu.index) + "-" + std::to_string(i), 40'192});
  return gpu;
}

inline gpu::Facts facts_of(std::vector<gpu::Gpu> gpus) {
  gpu::Facts facts;
  facts.driver = "580.95.05";
  facts.cuda = "13.0";
  facts.gpus = std::move(gpus);
  return facts;
}

}  // namespace safelaunch::testing
