#pragma once

#include <filesystem>

#include "safelaunch/base/environment.h"
#include "safelaunch/report/kept_runs.h"

namespace safelaunch::cli {

/// The folders of this user's runs; the first links to those of --run-dir.
[[nodiscard]] std::vector<std::filesystem::path> places_of_runs();

/// The line of a run, with whether it runs now.
[[nodiscard]] report::RunLine line_of(const report::KnownRun& run);

/// The runs that go on now.
[[nodiscard]] std::vector<report::RunLine> lines_of_running();

/// Whether the run of this line is over, seen from the boot with this id.
[[nodiscard]] report::RunLife life_of(const report::RunLine& line, std::string_view boot_id);

/// Removes the runs that are beyond the limits, and installations of other versions of safelaunch
/// that nothing uses any more.
void remove_old_records(report::KeepLimits limits, const Environment& environment);

}  // namespace safelaunch::cli
