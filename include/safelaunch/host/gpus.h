#pragma once

#include <string>
#include <vector>

/// What the kernel tells of NVIDIA's GPUs. No driver is called, so a sick one cannot hold us.
namespace safelaunch::host {

/// The GPUs that a process has open, each once: N of /dev/nvidiaN, without the control devices
/// (nvidiactl, nvidia-uvm). Empty where we may not look.
[[nodiscard]] std::vector<int> gpus_opened_by(int pid);

/// The models of the GPUs that the NVIDIA kernel module lists ("NVIDIA H100 80GB HBM3").
[[nodiscard]] std::vector<std::string> gpu_models();

}  // namespace safelaunch::host
