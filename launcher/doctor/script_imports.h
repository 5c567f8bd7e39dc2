#pragma once

#include <string_view>

namespace safelaunch::doctor {

/// Whether a Python source has a line that imports the module, or something of it.
[[nodiscard]] bool imports_module(std::string_view source, std::string_view module);

}  // namespace safelaunch::doctor
