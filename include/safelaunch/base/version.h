#pragma once

namespace safelaunch {

/// The version of this safelaunch: "0.1.0".
[[nodiscard]] const char* version();

}  // namespace safelaunch
