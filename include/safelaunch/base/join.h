#pragma once

#include <string>
#include <string_view>

namespace safelaunch {

/// The words behind each other: "a, b, c" with ", " between them. `words` is any range of texts.
template <class Words>
[[nodiscard]] std::string join(const Words& words, std::string_view between) {
  std::string text;
  bool first = true;
  for (const auto& word : words) {
    if (!first) text += between;
    first = false;
    text += word;
  }
  return text;
}

/// As a person lists them: "a, b and c".
template <class Words>
[[nodiscard]] std::string list_in_words(const Words& words) {
  std::string text;
  std::size_t left = words.size();
  for (const auto& word : words) {
    if (!text.empty()) text += left == 1 ? " and " : ", ";
    text += word;
    --left;
  }
  return text;
}

}  // namespace safelaunch
