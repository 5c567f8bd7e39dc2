#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace safelaunch::job {

/// The whole of `text` as a decimal number; nullopt for anything else.
inline std::optional<int> to_int(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// The part of a path after its last slash.
inline std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace safelaunch::job
