#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace safelaunch {

/// The environment of a process: name → value. It is a plain value; changing it does not change our
/// own.
using Environment = std::map<std::string, std::string, std::less<>>;

/// Our own environment, as it was when the program started.
[[nodiscard]] Environment current_environment();

/// The value of a variable, or `otherwise` where it is not set.
[[nodiscard]] std::string_view value_or(const Environment& environment, std::string_view name,
                                        std::string_view otherwise = {});

/// The folder that an XDG variable names, else the one below HOME that stands for it:
/// user_folder(environment, "XDG_CACHE_HOME", ".cache"). A path that does not begin with / is
/// skipped, as the specification asks: it would be another folder after each chdir. Empty where
/// neither names a folder.
[[nodiscard]] std::string user_folder(const Environment& environment, std::string_view variable,
                                      std::string_view below_home);

/// $XDG_STATE_HOME/safelaunch/NAME, else ~/.local/state/safelaunch/NAME; empty where no home is
/// there.
[[nodiscard]] std::string state_file(const Environment& environment, std::string_view name);

/// $XDG_CACHE_HOME/safelaunch, else ~/.cache/safelaunch; empty where there is neither.
[[nodiscard]] std::filesystem::path cache_directory(const Environment& environment);

}  // namespace safelaunch
