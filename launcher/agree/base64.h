#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace safelaunch::agree {

/// Base64 (RFC 4648), in which etcd's JSON carries keys and values.
[[nodiscard]] std::string to_base64(std::string_view bytes);
/// nullopt: it is none.
[[nodiscard]] std::optional<std::string> from_base64(std::string_view text);

}  // namespace safelaunch::agree
