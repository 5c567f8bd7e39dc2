#include "text_check.h"

#include <cstdint>

namespace safelaunch::profile {
namespace {

bool is_control(unsigned char c) {
  return (c < 0x20 && c != '\n' && c != '\r' && c != '\t') || c == 0x7f;
}

// The length of the UTF-8 sequence that `first` begins, or 0.
std::size_t sequence_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return 2;
  if (first >= 0xe0 && first <= 0xef) return 3;
  if (first >= 0xf0 && first <= 0xf4) return 4;
  return 0;
}

// Overlong forms, surrogates and C1 controls (U+0080..9F act on terminals) are no text either.
bool is_text(std::uint32_t code, std::size_t length) {
  if (length == 2) return code >= 0xa0;
  if (length == 3) return code >= 0x800 && (code < 0xd800 || code > 0xdfff);
  return code >= 0x10000 && code <= 0x10ffff;
}

bool is_text_sequence(std::string_view text, std::size_t at, std::size_t length) {
  if (at + length > text.size()) return false;
  std::uint32_t code = static_cast<unsigned char>(text[at]) & (0xffU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    const auto next = static_cast<unsigned char>(text[at + i]);
    if ((next & 0xc0) != 0x80) return false;
    code = code << 6 | (next & 0x3fU);
  }
  return is_text(code, length);
}

}  // namespace

std::optional<std::size_t> find_unprintable(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const std::size_t length = sequence_length(first);
    if (length == 1 ? is_control(first) : length == 0 || !is_text_sequence(text, at, length))
      return at;
    at += length;
  }
  return std::nullopt;
}

}  // namespace safelaunch::profile
