#pragma once

#include <algorithm>
#include <array>

#include "safelaunch/base/strings.h"

/// ASCII alone, whatever the locale, because a job prints bytes.
namespace safelaunch::redact {

inline bool is_lower(char c) {
  return c >= 'a' && c <= 'z';
}
inline bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
inline bool is_letter(char c) {
  return is_lower(c) || is_upper(c);
}
inline bool is_alphanumeric(char c) {
  return is_letter(c) || is_digit(c);
}
inline bool is_identifier(char c) {
  return is_alphanumeric(c) || c == '_';
}
inline bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
inline bool is_space(char c) {
  return is_blank(c) || c == '\n' || c == '\r';
}
inline bool is_quote(char c) {
  return c == '"' || c == '\'' || c == '`';
}
inline bool is_base64(char c) {
  return is_alphanumeric(c) || c == '+' || c == '/' || c == '=';
}
inline int hexadecimal_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}
inline char to_lower(char c) {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}
/// The end of the line that holds `at`.
inline std::size_t end_of_line(std::string_view text, std::size_t at) {
  return std::min(text.find('\n', at), text.size());
}

/// Words that blanks separate.
class Words {
 public:
  constexpr explicit Words(std::string_view list) : list_(list) {
    for (std::size_t begin = 0; begin < list.size();) {
      const std::size_t end = std::min(list.find(' ', begin), list.size());
      marks_[slot_of(list.substr(begin, end - begin))] = true;
      begin = end + 1;
    }
  }

  /// Whether the word is one of them. It is quick where it is none.
  [[nodiscard]] constexpr bool has(std::string_view word) const {
    if (word.empty() || !marks_[slot_of(word)]) return false;
    const auto is_end = [&](std::size_t at) { return at >= list_.size() || list_[at] == ' '; };
    for (std::size_t at = list_.find(word); at != list_.npos; at = list_.find(word, at + 1))
      if (is_end(at - 1) && is_end(at + word.size())) return true;
    return false;
  }

  [[nodiscard]] constexpr std::string_view text() const { return list_; }

 private:
  static constexpr std::size_t slot_of(std::string_view word) {
    const auto first = static_cast<unsigned char>(word.front());
    const auto last = static_cast<unsigned char>(word.back());
    return (first * 31U + last * 7U + word.size()) % 256;
  }

  std::string_view list_;
  std::array<bool, 256> marks_{};
};

}  // namespace safelaunch::redact
