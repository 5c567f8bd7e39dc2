#pragma once

#include <string>

#include "safelaunch/report/run_record.h"
#include "safelaunch/report/summary.h"

namespace safelaunch::report {

/// A run for a terminal: what the closing screen says, then for each attempt how far the ranks came
/// and when, who hung where, how the environment differed, and the last lines of the logs.
[[nodiscard]] std::string text_report(const RunRecord& run, Colour colour);

/// A run as one HTML page that needs nothing else: no network, no scripts (and a policy that lets
/// none run), light or dark as the reader's screen is. A few megabytes at most, whatever the run.
[[nodiscard]] std::string html_report(const RunRecord& run);

/// Whether a file is such a page, by what stands at its beginning: it may be made anew.
[[nodiscard]] bool is_report_page(const std::string& file);

/// Reads a run directory and writes report.html into it, secrets taken out: for the end of a run.
/// False where it cannot be written.
[[nodiscard]] bool write_report_page(const std::filesystem::path& directory,
                                     const Environment& environment);

}  // namespace safelaunch::report
