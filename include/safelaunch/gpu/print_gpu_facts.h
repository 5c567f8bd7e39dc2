#pragma once

namespace safelaunch::gpu {

/// `safelaunch-probe gpus`: asks NVML about every GPU and prints what gpu_lines.h takes apart, each
/// line as soon as it is known. May hang or crash with the driver. Gives the exit status: 0, or 69
/// where there is no driver that answers.
[[nodiscard]] int print_gpu_facts();

}  // namespace safelaunch::gpu
