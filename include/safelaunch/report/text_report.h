#pragma once

#include <string>

#include "safelaunch/report/run_record.h"
#include "safelaunch/report/summary.h"

namespace safelaunch::report {

/// A run for a terminal: what the closing screen says, then for each attempt how far the ranks came
/// and when, who hung where, how the environment differed, and the last lines of the logs.
[[nodiscard]] std::string text_report(const RunRecord& run, Colour colour);

}  // namespace safelaunch::report
