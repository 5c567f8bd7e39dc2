#pragma once

#include <charconv>
#include <optional>
#include <string_view>

namespace safelaunch::diagnose {

/// The whole number that stands right behind the first `words` of a text.
[[nodiscard]] inline std::optional<int> number_after(std::string_view text,
                                                     std::string_view words) {
  const std::size_t at = text.find(words);
  if (at == std::string_view::npos) return std::nullopt;
  const char* begin = text.data() + at + words.size();
  int number = 0;
  if (std::from_chars(begin, text.data() + text.size(), number).ec != std::errc())
    return std::nullopt;
  return number;
}

}  // namespace safelaunch::diagnose
