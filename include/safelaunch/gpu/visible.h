#pragma once

#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/time.h"
#include "safelaunch/gpu/facts.h"

/// The GPUs that a program here finds. libcuda decides, because every program asks it: device files
/// only tell who may open them, and WSL has none of the usual names. It is asked in a process of
/// its own and with a deadline, as NVML is (reader.h).
namespace safelaunch::gpu {

/// cuInit wakes every GPU: ten seconds and more where there are eight without persistence mode.
inline constexpr Duration kCudaDeadline{30'000};

/// The account that libcuda gives under an environment, and so under its CUDA_VISIBLE_DEVICES.
struct VisibleGpus {
  Trouble trouble = Trouble::none;
  std::string why;                 ///< why there is none, for a sentence; empty where there is one
  std::string cuda;                ///< the newest CUDA that the driver runs: "13.0"
  std::vector<std::string> names;  ///< a name a GPU, in CUDA's order
  bool operator==(const VisibleGpus&) const = default;
};

/// Whether a program of this environment may find a GPU: there is a device file or a libcuda that
/// it would load. No driver is asked, and only a few files are looked at.
[[nodiscard]] bool may_find_gpu(const Environment& environment);

/// Asks libcuda through `program` (safelaunch-probe). Blocks, at most for the deadline and a
/// second.
[[nodiscard]] VisibleGpus ask_cuda(const std::string& program, const Environment& environment,
                                   Duration deadline);

/// The same, where a GPU may be found at all; else the answer comes at once.
[[nodiscard]] VisibleGpus find_visible_gpus(const Environment& environment,
                                            Duration deadline = kCudaDeadline);

/// How many GPUs a program finds, by all that is known: libcuda decides; where its library fails,
/// the GPUs that NVML lists may still work once the ill one is left out. Where neither answers, the
/// kernel's `devices` count, and nullopt says that there may be some.
[[nodiscard]] std::optional<int> count_gpus(const VisibleGpus& visible, const Facts& nvml,
                                            int devices);

}  // namespace safelaunch::gpu
