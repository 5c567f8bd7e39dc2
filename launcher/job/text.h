#pragma once

#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace safelaunch {

/// The whole of `text` as a decimal number; nullopt for anything else.
inline std::optional<int> to_int(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// "0,1,2"
inline std::string joined(std::span<const std::string> words) {
  std::string result;
  for (const std::string& word : words) result += (result.empty() ? "" : ",") + word;
  return result;
}

/// The part of a path after its last slash.
inline std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace safelaunch
