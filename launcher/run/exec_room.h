#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "safelaunch/base/environment.h"

namespace safelaunch::run {

/// How many bytes the kernel takes for a command's words and variables, as execve(2) tells it.
[[nodiscard]] std::size_t exec_limit();

/// Whether they fit, with room for what a script's first line adds.
[[nodiscard]] bool fits_exec(const std::vector<std::string>& argv, const Environment& environment,
                             std::size_t limit);

}  // namespace safelaunch::run
