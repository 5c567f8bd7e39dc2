#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/report/run_files.h"
#include "safelaunch/report/run_record.h"

namespace safelaunch::report {

/// How much of a run goes into a bundle: more of the logs than a page shows.
inline constexpr ReadLimits kBundleLimits{16U << 20, 4U << 20, 48U << 20};

/// A .tar.gz for support: the files, which must be cleaned() ones, the run as text and as page, and
/// a README that says what is inside, what was cut and what was taken out.
[[nodiscard]] std::string bundle(const RunFiles& files, const RunRecord& run);

/// Writes a file that must not be there yet, as a whole or not at all, mode 0600.
[[nodiscard]] Result<void> write_new_file(const std::filesystem::path& file,
                                          std::string_view bytes);

/// What a bundle tells of the host: the system's own files as they are ("system/meminfo"), since a
/// supporter reads those best, its network interfaces, and the variables that launchers, NCCL and
/// torch read. Bounded; what is not there is left out. `root` is for tests.
[[nodiscard]] std::vector<RecordedFile> system_facts(const Environment& environment,
                                                     const std::filesystem::path& root = "/");

}  // namespace safelaunch::report
