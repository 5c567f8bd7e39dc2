#include "escape_filter.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// Bytes pass in runs: plain text at once, then one special byte or sequence at a time. A sequence
// passes only if it is known to be harmless; any other byte is written as text, so it can be seen.
// The tail of a chunk that may still become either is held back.
namespace safelaunch::output {
namespace {

constexpr char kEscape = '\x1b';

bool is_plain(char c) {
  return (c >= ' ' && c < '\x7f') || c == '\n' || c == '\r' || c == '\t';
}

bool is_c1_control(char32_t value) {
  return value >= 0x80 && value < 0xa0;
}

// Writes "^[" for ESC, "^@" for NUL, "^?" for DEL, as cat -v and terminals themselves echo them.
void append_caret(char control, std::string& safe) {
  safe += '^';
  safe += static_cast<char>(control ^ 0x40);
}

void append_hex(char byte, std::string& safe) {
  safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
}

}  // namespace

std::size_t harmless_sequence(std::string_view text) {
  constexpr std::string_view kParameters = "0123456789;:";
  constexpr std::string_view kFinals = "mKGCD";
  if (text.size() < 2) return std::string_view::npos;
  if (text[1] != '[') return 0;
  const std::size_t end = text.find_first_not_of(kParameters, 2);
  if (std::min(end, text.size()) >= EscapeFilter::kLongestHeld) return 0;
  if (end == std::string_view::npos) return std::string_view::npos;
  return kFinals.find(text[end]) == std::string_view::npos ? 0 : end + 1;
}

void EscapeFilter::pass(std::string_view bytes, std::string& safe) {
  std::string joined;
  if (!held_.empty()) {
    joined = std::move(held_.append(bytes));
    held_.clear();
    bytes = joined;
  }
  while (!bytes.empty()) {
    const auto* special = std::find_if_not(bytes.begin(), bytes.end(), is_plain);
    safe.append(bytes.begin(), special);
    bytes.remove_prefix(static_cast<std::size_t>(special - bytes.begin()));
    if (!bytes.empty()) bytes = pass_special(bytes, safe);
  }
}

// Deals with the special byte or sequence at the front of `bytes`; returns the rest.
std::string_view EscapeFilter::pass_special(std::string_view bytes, std::string& safe) {
  const std::size_t sequence = bytes.front() == kEscape ? harmless_sequence(bytes) : 0;
  const CodePoint point = first_code_point(bytes);
  if (sequence == std::string_view::npos || point.kind == CodePoint::Kind::incomplete) {
    held_ = bytes;
    return {};
  }
  if (sequence > 0) {
    safe += bytes.substr(0, sequence);
    return bytes.substr(sequence);
  }
  if (point.kind == CodePoint::Kind::invalid) {
    append_hex(bytes.front(), safe);
  } else if (point.length == 1) {
    append_caret(bytes.front(), safe);
  } else if (is_c1_control(point.value)) {
    append_hex(static_cast<char>(point.value), safe);
  } else {
    safe += bytes.substr(0, point.length);
  }
  return bytes.substr(point.length);
}

void EscapeFilter::finish(std::string& safe) {
  for (const char byte : held_) {
    if (is_plain(byte)) {
      safe += byte;
    } else if (byte == kEscape) {
      append_caret(byte, safe);
    } else {
      append_hex(byte, safe);
    }
  }
  held_.clear();
}

}  // namespace safelaunch::output
