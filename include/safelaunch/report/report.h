#pragma once

#include <filesystem>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/report/run_files.h"
#include "safelaunch/report/run_record.h"
#include "safelaunch/report/summary.h"

namespace safelaunch::report {

/// A run for a terminal: the closing screen, then for each attempt the stages of the ranks with
/// their times, the stacks, the changes to the environment, and the last lines of the logs.
[[nodiscard]] std::string text_report(const RunRecord& run);

/// A run as one HTML page. It needs no network and no scripts, and its policy lets none run; it is
/// light or dark as the reader's screen is, and never larger than a few megabytes.
[[nodiscard]] std::string html_report(const RunRecord& run);

/// Text for HTML's elements and quoted attributes: no word of it becomes markup.
[[nodiscard]] std::string html_text(std::string_view text);

/// Whether a file is such a page, by its first bytes. A page of ours may be overwritten.
[[nodiscard]] bool is_report_page(const std::string& file);

/// The files of a run for its page, without secrets: those of the run directory, and the lines of
/// source at which its ranks stood.
[[nodiscard]] RunFiles files_for_page(const std::filesystem::path& directory,
                                      const Environment& environment);

/// Reads a run directory at the end of the run and writes report.html into it, without secrets.
/// False if the file cannot be written.
[[nodiscard]] bool write_report_page(const std::filesystem::path& directory,
                                     const Environment& environment);

/// How much of a run is read for a bundle, which holds more of the logs than the page.
inline constexpr ReadLimits kBundleLimits{16U << 20, 4U << 20, 48U << 20};

/// Makes a .tar.gz for support: the files, the run as text and as page, and a README that lists the
/// content, the cuts and the redactions. The files must come from cleaned().
[[nodiscard]] std::string bundle(const RunFiles& files, const RunRecord& run);

/// Writes a new file as a whole or not at all, with mode 0600. Fails if the file exists.
[[nodiscard]] Result<void> write_new_file(const std::filesystem::path& file,
                                          std::string_view bytes);

/// The part of a bundle about the host: files of the system, unchanged since a supporter reads
/// those best ("system/meminfo"), its network interfaces, and the variables that launchers, NCCL
/// and torch read. The size is bounded, and a missing file is left out. Tests pass another `root`.
[[nodiscard]] std::vector<RecordedFile> system_facts(const Environment& environment,
                                                     const std::filesystem::path& root = "/");

}  // namespace safelaunch::report
