#pragma once

#include <string>

#include "safelaunch/report/run_record.h"
#include "safelaunch/report/summary.h"

namespace safelaunch::report {

/// A run for a terminal: the closing screen, then for each attempt the stages of the ranks with
/// their times, the stacks, the changes to the environment, and the last lines of the logs.
[[nodiscard]] std::string text_report(const RunRecord& run, Colour colour);

/// A run as one HTML page. It needs no network and no scripts, and its policy lets none run; it is
/// light or dark as the reader's screen is, and never larger than a few megabytes.
[[nodiscard]] std::string html_report(const RunRecord& run);

/// Whether a file is such a page, by its first bytes. Such a file may be overwritten.
[[nodiscard]] bool is_report_page(const std::string& file);

/// The files of a run for its page, without secrets: those of the run directory, and the lines of
/// source at which its ranks stood.
[[nodiscard]] RunFiles files_for_page(const std::filesystem::path& directory,
                                      const Environment& environment);

/// Reads a run directory at the end of the run and writes report.html into it, without secrets.
/// False if the file cannot be written.
[[nodiscard]] bool write_report_page(const std::filesystem::path& directory,
                                     const Environment& environment);

}  // namespace safelaunch::report
