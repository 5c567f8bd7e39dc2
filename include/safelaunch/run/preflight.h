#pragma once

#include <string>
#include <vector>

#include "safelaunch/base/finding.h"
#include "safelaunch/run/plan.h"

namespace safelaunch::run {

/// Ends what is left over from earlier runs and provably ours, as `--clean` says, and lists what
/// stands in this run's way and is left alone. Blocks while processes end (seconds at most, and
/// only if there are any). The lines are for the screen; none where there is nothing to say.
[[nodiscard]] std::vector<std::string> clean_before_run(const RunPlan& plan);

/// What the doctor says of this host and the first attempt's environment: what blocks, then risks.
/// Takes milliseconds; a healthy host gets nothing.
[[nodiscard]] std::vector<Finding> examine_host(const RunPlan& plan);

}  // namespace safelaunch::run
