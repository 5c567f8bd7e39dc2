#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "safelaunch/base/result.h"

namespace safelaunch::report {

/// The folder of the run that a user means: a path, an ID, or a part of it that only one has; the
/// newest of all runs where nothing is named. `places` are the folders that hold runs. The error
/// (Errc::usage) says which runs come near.
[[nodiscard]] Result<std::filesystem::path> find_run(std::string_view named,
                                                     std::span<const std::filesystem::path> places);

}  // namespace safelaunch::report
