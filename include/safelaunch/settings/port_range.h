#pragma once

#include <cstdint>
#include <string_view>

#include "safelaunch/base/result.h"

namespace safelaunch::settings {

/// Ports from `first` to `last`, both included. One port is a range of one.
struct PortRange {
  std::uint16_t first = 0;
  std::uint16_t last = 0;
  bool operator==(const PortRange&) const = default;
};

/// "29500" or "20000-25000", as `--port` takes them.
[[nodiscard]] Result<PortRange> parse_port_range(std::string_view text);

}  // namespace safelaunch::settings
