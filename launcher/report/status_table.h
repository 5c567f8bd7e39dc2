#pragma once

#include <string>

#include "safelaunch/report/status.h"

namespace safelaunch::report {

/// The ranks with their stage and the figures of this moment, a row a rank; above sixteen, those
/// that do the same share a row. Below it the GPUs, a row each.
[[nodiscard]] std::string table_of_ranks(const RunStatus& status);

/// "group: ranks 0 1 2", a line a stage.
[[nodiscard]] std::string stages_in_words(const RunStatus& status);

}  // namespace safelaunch::report
