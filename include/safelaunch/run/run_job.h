#pragma once

#include "safelaunch/plan/plan.h"

namespace safelaunch::run {

/// Runs a job as planned: attempt after attempt until one completes or none is left to try, and
/// reports. Returns the status to exit with (README.md, "Exit status"). To be called in the
/// supervisor half of the program, once.
[[nodiscard]] int run_job(plan::RunPlan plan);

}  // namespace safelaunch::run
