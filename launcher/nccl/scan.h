#pragma once

#include <cstdint>

#include "safelaunch/base/strings.h"

/// Scans untrusted text: takes words and numbers off it, one at a time.
namespace safelaunch::nccl {

/// Takes `words` off the front, if they stand there.
inline bool take(std::string_view& text, std::string_view words) {
  if (!text.starts_with(words)) return false;
  text.remove_prefix(words.size());
  return true;
}

/// Reads "0x7f0cf3cf7010".
inline std::optional<std::uint64_t> hexadecimal(std::string_view word) {
  if (!take(word, "0x")) return std::nullopt;
  return to_number<std::uint64_t>(word, 16);
}

/// The word right behind the first `name` in a text, with a blank between them: "rank" in "comm 0x1
/// rank 3 nranks 4" gives "3".
inline std::optional<std::string_view> word_after(std::string_view text, std::string_view name) {
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string_view::npos; ++at) {
    const std::size_t end = at + name.size();
    const bool whole = (at == 0 || text[at - 1] == ' ') && end < text.size() && text[end] == ' ';
    if (!whole) continue;
    std::string_view rest = text.substr(end + 1);
    return take_word(rest);
  }
  return std::nullopt;
}

inline std::optional<int> number_of(std::string_view text, std::string_view name) {
  const auto word = word_after(text, name);
  return word ? to_number(*word) : std::nullopt;
}

}  // namespace safelaunch::nccl
