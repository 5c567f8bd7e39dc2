#include "safelaunch/base/harmless.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

namespace safelaunch {
namespace {

// Whether a number among those of a colour sequence hides the text behind it. Behind 38 and 48
// stand numbers of a colour.
bool conceals(std::string_view numbers) {
  constexpr int kConceal = 8;
  while (!numbers.empty()) {
    const int number = number_in<int>(take_word(numbers, ';'));
    if (number == kConceal) return true;
    if (number != 38 && number != 48) continue;
    const int kind = number_in<int>(take_word(numbers, ';'));
    for (int left = kind == 5 ? 1 : kind == 2 ? 3 : 0; left > 0; --left)
      static_cast<void>(take_word(numbers, ';'));
  }
  return false;
}

// ESC [ numbers m; 0 where it is another sequence, or one that hides text.
std::size_t colour_length(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  if (end == std::string_view::npos || text[end] != 'm') return 0;
  return conceals(text.substr(2, end - 2)) ? 0 : end + 1;
}

std::string shown(const CodePoint& point, std::string_view bytes) {
  if (point.kind != CodePoint::Kind::valid)
    return fmt::format("\\x{:02x}", static_cast<unsigned char>(bytes.front()));
  const auto value = static_cast<unsigned>(point.value);
  if (value == '\n' || value == '\t') return std::string(bytes);
  if (value < 0x20 || value == 0x7f) return fmt::format("^{}", static_cast<char>(value ^ 0x40U));
  const bool unshowable = (value >= 0x80 && value < 0xa0) || hides(point.value);
  return unshowable ? fmt::format("<U+{:04X}>", value) : std::string(bytes);
}

}  // namespace

bool hides(char32_t value) {
  struct Range {
    char32_t first;
    char32_t last;
  };
  constexpr std::array kHidden{
      Range{0x061c, 0x061c},  // these turn the reading direction
      Range{0x200e, 0x200f}, Range{0x202a, 0x202e},   Range{0x2066, 0x2069},
      Range{0x00ad, 0x00ad},  // these have no width
      Range{0x180e, 0x180e}, Range{0x200b, 0x200b},   Range{0x2060, 0x2064},
      Range{0xfeff, 0xfeff}, Range{0xe0000, 0xe007f}, Range{0x2028, 0x2029},  // these end a line
  };
  return std::ranges::any_of(
      kHidden, [&](const Range& one) { return one.first <= value && value <= one.last; });
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

}  // namespace safelaunch
