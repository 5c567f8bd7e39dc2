#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace safelaunch::profile {

/// What is wrong with a network such as "10.8.0.0/16" or "fd00::/8", or nullopt.
[[nodiscard]] std::optional<std::string> refuse_network(std::string_view network);

/// Whether an address lies in a network that was not refused. False for what is no address.
[[nodiscard]] bool is_in_network(std::string_view address, std::string_view network);

}  // namespace safelaunch::profile
