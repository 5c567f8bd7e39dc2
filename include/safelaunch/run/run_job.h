#pragma once

#include <filesystem>
#include <string>

#include "safelaunch/base/result.h"
#include "safelaunch/plan/plan.h"

namespace safelaunch::run {

/// Runs a job as planned: attempt after attempt until one completes or none is left to try, and
/// reports. Returns the status to exit with (README.md, "Exit status"). To be called in the
/// supervisor half of the program, once.
[[nodiscard]] int run_job(plan::RunPlan plan);

/// Whether a run may keep its figures in the file of `--metrics`, asked before the job. Gives a
/// warning where another run writes it, too; empty: there is none. Errors: a name that
/// node_exporter does not read, a folder that cannot be written, a file that holds something else.
/// Where it may not write, the folder is not tried.
[[nodiscard]] Result<std::string> check_metrics_file(const std::filesystem::path& file,
                                                     bool may_write);

}  // namespace safelaunch::run
