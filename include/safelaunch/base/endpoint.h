#pragma once

#include <string>
#include <string_view>

namespace safelaunch {

/// The host of "gpu-0:29400" and "[fd00::1]:29400", without brackets.
[[nodiscard]] std::string endpoint_host(std::string_view endpoint);

}  // namespace safelaunch
