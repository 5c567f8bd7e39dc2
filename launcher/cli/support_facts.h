#pragma once

#include <string>
#include <vector>

#include "safelaunch/report/run_files.h"

namespace safelaunch::cli {

/// The facts of this host in a support bundle, beside the run: the system's files, the versions that
/// `command` uses, what the doctor finds, and what the GPUs' driver says. Takes up to a few
/// seconds; each question has its own deadline.
[[nodiscard]] std::vector<report::RecordedFile> support_facts(std::vector<std::string> command);

}  // namespace safelaunch::cli
