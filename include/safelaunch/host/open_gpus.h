#pragma once

#include <vector>

namespace safelaunch::host {

/// The GPUs that a process has open, each once: N of /dev/nvidiaN, without the control devices
/// (nvidiactl, nvidia-uvm). Empty where we may not look.
[[nodiscard]] std::vector<int> gpus_opened_by(int pid);

}  // namespace safelaunch::host
