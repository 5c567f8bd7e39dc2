#pragma once

#include "safelaunch/plan/plan.h"
#include "safelaunch/report/record.h"

namespace safelaunch::run {

/// The models of the GPUs that the driver lists below a folder, such as /proc/driver/nvidia/gpus:
/// "8 × NVIDIA H100 80GB HBM3". Empty where there is none.
[[nodiscard]] std::string gpu_models(const std::filesystem::path& folder);

/// What a stranger asks first about a run that failed: the host, the versions, the GPUs. Reads
/// files; asks no driver and starts nothing.
[[nodiscard]] report::record::Host account_of_host(const plan::RunPlan& plan);

}  // namespace safelaunch::run
