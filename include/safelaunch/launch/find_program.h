#pragma once

#include <string>
#include <string_view>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch::launch {

/// The file that a shell would execute for `word`: itself if it has a slash, else the first
/// executable file of that name in the environment's PATH. Errors: not_found, not_executable.
[[nodiscard]] Result<std::string> find_program(std::string_view word,
                                               const Environment& environment);

}  // namespace safelaunch::launch
