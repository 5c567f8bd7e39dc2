#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "safelaunch/base/environment.h"

namespace safelaunch {

/// The folder that an XDG variable names, else the one below HOME that stands for it:
/// user_folder(environment, "XDG_CACHE_HOME", ".cache"). A path that does not begin with / is
/// passed over, as the specification asks: it would be another folder after each chdir. Empty where
/// neither names one.
[[nodiscard]] std::string user_folder(const Environment& environment, std::string_view variable,
                                      std::string_view below_home);

/// $XDG_CACHE_HOME/safelaunch, else ~/.cache/safelaunch; empty where there is neither.
[[nodiscard]] std::filesystem::path cache_directory(const Environment& environment);

}  // namespace safelaunch
