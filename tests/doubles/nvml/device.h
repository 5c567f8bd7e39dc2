#pragma once

#include "nvml/api.h"

#include <optional>
#include <string_view>

/// The device behind an nvmlDevice_t: a GPU, or one MIG instance of it.
struct nvmlDevice_st {
  int gpu;
  int instance;  ///< -1: the whole GPU
};

namespace safelaunch::testing {

/// SAFELAUNCH_DOUBLE_NVML: the trouble of the driver, or of GPU 0, the one that is ill.
inline constexpr const char* kNvmlKnob = "SAFELAUNCH_DOUBLE_NVML";

/// Is `device` the GPU that has the trouble `word`?
[[nodiscard]] bool is_ill(nvmlDevice_t device, std::string_view word);

/// How many NVLinks each GPU has: none where the knob says `pcie`.
[[nodiscard]] unsigned link_count();

/// NVML_SUCCESS where the device can be asked at all.
[[nodiscard]] nvmlReturn_t answers(nvmlDevice_t device);

/// NVML_SUCCESS after nvmlInit.
[[nodiscard]] nvmlReturn_t nvml_initialised();

/// The process of `busy:PID:MIB`, as long as it lives: its memory is free once it has ended.
struct BusyProcess {
  unsigned pid;
  unsigned long long bytes;
};
[[nodiscard]] std::optional<BusyProcess> busy_process(nvmlDevice_t device);

/// `spins:FILE`: a kernel goes on without a process, as long as the file exists. FILE.asked
/// says that somebody has asked.
[[nodiscard]] bool computes_for_nobody(nvmlDevice_t device);

}  // namespace safelaunch::testing
