#include "answer.h"

#include <cstdio>

#include "safelaunch/base/format.h"
#include "safelaunch/base/utf8.h"

namespace safelaunch::cli {
namespace {

void say(std::string_view before, std::string_view text) {
  const std::string shown = harmless(text);
  std::fprintf(stderr, "safelaunch: %.*s%s\n", static_cast<int>(before.size()), before.data(),
               shown.c_str());
}

// ESC [ numbers m; 0 where it is another sequence.
std::size_t colour_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

bool turns_direction(char32_t value) {
  return value == 0x061c || value == 0x200e || value == 0x200f ||
         (value >= 0x202a && value <= 0x202e) || (value >= 0x2066 && value <= 0x2069);
}

std::string shown(const CodePoint& point, std::string_view bytes) {
  if (point.kind != CodePoint::Kind::valid)
    return fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes.front()));
  const auto value = static_cast<unsigned>(point.value);
  if (value == '\n' || value == '\t') return std::string(bytes);
  if (value < 0x20 || value == 0x7f) return fmt::format("^{}", static_cast<char>(value ^ 0x40U));
  const bool unshowable = (value >= 0x80 && value < 0xa0) || turns_direction(point.value);
  return unshowable ? fmt::format("<U+{:04X}>", value) : std::string(bytes);
}

}  // namespace

int answer(std::string_view text) {
  const std::string shown = harmless(text);
  std::fwrite(shown.data(), 1, shown.size(), stdout);
  std::fflush(stdout);  // the next part may take half a minute
  return 0;
}

int refuse(const Error& error) {
  say("", error.message);
  return exit_code_of(error.code);
}

void warn(std::string_view text) {
  say("warning: ", text);
}

std::string harmless(std::string_view text) {
  std::string safe;
  while (!text.empty()) {
    std::size_t length = colour_length(text);
    if (length > 0) {
      safe += text.substr(0, length);
    } else {
      const CodePoint point = first_code_point(text);
      length = point.kind == CodePoint::Kind::valid ? point.length : 1;
      safe += shown(point, text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return safe;
}

}  // namespace safelaunch::cli
