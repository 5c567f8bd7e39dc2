#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace safelaunch {

/// The environment of a process: name → value. A plain value; nothing here changes our own.
using Environment = std::map<std::string, std::string, std::less<>>;

/// Our own environment, as it was when the program started.
[[nodiscard]] Environment current_environment();

/// The value of a variable, or `otherwise` where it is not set.
[[nodiscard]] std::string_view value_or(const Environment& environment, std::string_view name,
                                        std::string_view otherwise = {});

}  // namespace safelaunch
