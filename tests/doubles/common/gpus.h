#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace safelaunch::testing {

/// The GPUs of the imagined machine, of which all three doubles tell the same: eight-way HGX, as
/// far as SAFELAUNCH_DOUBLE_GPUS goes (2 without it).
[[nodiscard]] int gpu_count();

inline constexpr const char* kGpuName = "NVIDIA H100 80GB HBM3";
inline constexpr std::uint64_t kGpuMemory = std::uint64_t{80} << 30;

/// The UUID of a GPU. It alone tells two GPUs apart, since /proc of a machine without a GPU shows
/// nothing of them.
[[nodiscard]] std::array<unsigned char, 16> gpu_uuid(int index);
[[nodiscard]] std::string gpu_uuid_text(int index);  ///< GPU-xxxxxxxx-…

/// PCI: bus 0x10 for GPU 0, 0x20 for GPU 1, …; device and function 0.
[[nodiscard]] unsigned gpu_bus(int index);
[[nodiscard]] std::string gpu_bus_id(int index);  ///< as CUDA writes it: 0000:10:00.0

/// A GPU that has fallen off the bus, for all processes that share the folder that
/// SAFELAUNCH_DOUBLE_LOST names. Without the folder only the process that lost it knows.
void lose_gpu(int index);
[[nodiscard]] bool gpu_is_lost(int index);

}  // namespace safelaunch::testing
