#pragma once

#include <filesystem>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/report/run_files.h"

namespace safelaunch::report {

/// What a bundle tells of the host: the system's own files as they are ("system/meminfo"), since a
/// supporter reads those best, its network interfaces, and the variables that launchers, NCCL and
/// torch read. Bounded; what is not there is left out. `root` is for tests.
[[nodiscard]] std::vector<RecordedFile> system_facts(const Environment& environment,
                                                     const std::filesystem::path& root = "/");

}  // namespace safelaunch::report
