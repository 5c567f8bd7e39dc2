#pragma once

#include <span>
#include <string>
#include <string_view>

namespace safelaunch::probe {

/// Bytes as two digits each, and back.
[[nodiscard]] std::string to_hex(std::span<const char> bytes);

/// False, and nothing is written, where the text is not that of so many bytes.
[[nodiscard]] bool from_hex(std::string_view text, std::span<char> bytes);

}  // namespace safelaunch::probe
