#pragma once

#include <span>
#include <string>
#include <vector>

#include "safelaunch/gpu/facts.h"

/// Tells which processes hold the memory of GPUs. In a container NVML may name pids of the host, or
/// no process at all while memory is in use.
namespace safelaunch::gpu {

/// The processes on a GPU that are not among `own`.
[[nodiscard]] std::vector<Process> others_on(const Gpu& gpu, std::span<const int> own);

struct HeldMemory {
  int mib = 0;
  std::string holders;  ///< "pid 71 (40960 MiB) and pid 72 (512 MiB)", "processes not listed here"
};

/// The memory that is in use and does not belong to the processes in `own`.
[[nodiscard]] HeldMemory held_by_others(const Gpu& gpu, std::span<const int> own);

/// The memory that one process holds of one GPU.
struct MemoryHolding {
  int pid = 0;
  std::string what;  ///< "40960 MiB of GPU 0"
  bool operator==(const MemoryHolding&) const = default;
};

/// Lists every holding that NVML tells, GPU after GPU.
[[nodiscard]] std::vector<MemoryHolding> memory_holdings(const Facts& facts);

/// Lists memory in use that no listed process accounts for, from 512 MiB on: "3000 MiB of GPU 1".
[[nodiscard]] std::vector<std::string> memory_without_holder(const Facts& facts);

}  // namespace safelaunch::gpu
