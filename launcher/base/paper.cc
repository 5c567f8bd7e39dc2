#include "safelaunch/base/paper.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// A line is taken apart into pieces that stay whole: a word with the blanks before it, or one wide
// character, since Chinese and Japanese have no blanks. Ink belongs to the piece behind it and
// takes no room.
namespace safelaunch {
namespace {

const char* code_of(Ink ink) {
  switch (ink) {
    case Ink::bold: return "1";
    case Ink::dim: return "2";
    case Ink::fault: return "1;31";
    case Ink::good: return "32";
    case Ink::warning: return "33";
    case Ink::help: return "36";
  }
  return "0";
}

// The length of the ink at the front of the text; 0 where there is none.
std::size_t ink_at(std::string_view text) {
  if (!text.starts_with("\x1b[")) return 0;
  const std::size_t end = text.find_first_not_of("0123456789;", 2);
  return end != std::string_view::npos && text[end] == 'm' ? end + 1 : 0;
}

std::string without_ink(std::string_view text) {
  std::string plain;
  while (!text.empty()) {
    const std::size_t ink = ink_at(text);
    if (ink == 0) plain += text.front();
    text.remove_prefix(std::max<std::size_t>(ink, 1));
  }
  return plain;
}

// No line begins with the first: they belong to what is before them; and none ends with the others.
constexpr std::u32string_view kNeverFirst = U"、。，．：；？！）」』】〉》”’…％";
constexpr std::u32string_view kNeverLast = U"（「『【〈《“‘";

bool among(std::u32string_view marks, char32_t character) {
  return marks.find(character) != std::u32string_view::npos;
}

struct Unbroken {
  std::string_view blanks;
  std::string_view text;    ///< with its ink
  std::size_t columns = 0;  ///< of the text
};

// One wide character, with what opens and closes it, or all up to the next blank or wide character.
Unbroken take_unbroken(std::string_view& line) {
  Unbroken piece;
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  piece.blanks = line.substr(0, begin);
  std::size_t at = begin;
  bool closed = false;  // only what closes may follow
  bool opened = false;  // something must follow
  while (at < line.size() && line[at] != ' ') {
    if (const std::size_t ink = ink_at(line.substr(at)); ink != 0) {
      at += ink;
      continue;
    }
    const CodePoint point = first_code_point(line.substr(at));
    const bool wide = is_wide(point.value);
    const bool parts = !opened && (closed || (wide && piece.columns > 0));
    if (parts && !among(kNeverFirst, point.value)) break;
    piece.columns += wide ? 2 : 1;
    opened = among(kNeverLast, point.value);
    closed = wide && !opened;
    at += point.length;
  }
  piece.text = line.substr(begin, at - begin);
  line.remove_prefix(at);
  return piece;
}

// The line from column `at` on; where it goes on it begins at `hang`.
std::string broken(std::string_view line, std::size_t at, std::size_t hang, std::size_t width) {
  std::string text;
  while (!line.empty()) {
    const Unbroken piece = take_unbroken(line);
    if (at <= hang || at + piece.blanks.size() + piece.columns <= width) {
      text += piece.blanks;
      at += piece.blanks.size();
    } else {
      text += '\n' + std::string(hang, ' ');
      at = hang;
    }
    text += piece.text;
    at += piece.columns;
  }
  return text;
}

constexpr std::size_t kFurtherIn = 2;

// Where a line that is too long goes on.
std::size_t hang_of(std::string_view line, std::size_t width) {
  const std::string plain = without_ink(line);
  const std::size_t indent = std::min(plain.find_first_not_of(' '), plain.size());
  const auto columns_before = [&](std::size_t at) {
    return columns(std::string_view(plain).substr(0, at));
  };
  std::size_t column = indent;  // where its last column begins
  for (std::size_t gap = plain.find("  ", indent); gap != std::string::npos;
       gap = plain.find("  ", column)) {
    column = std::min(plain.find_first_not_of(' ', gap), plain.size());
    if (columns_before(column) > width / 2) break;
    if (plain.find("  ", column) == std::string::npos) return columns_before(column);
  }
  return std::min(indent + kFurtherIn, width / 2);
}

std::string wrapped_line(std::string_view line, std::size_t width) {
  const std::string_view words = trimmed(line);
  const bool is_quote = words.starts_with("| ") || words.find('\t') != std::string_view::npos;
  if (is_quote || columns(line) <= width) return std::string(line);
  return broken(line, 0, hang_of(line, width), width);
}

bool is_set(const Environment& environment, std::string_view name) {
  const std::string_view value = value_or(environment, name);
  return !value.empty() && value != "0";
}

}  // namespace

std::string inked(Ink ink, std::string_view text) {
  return text.empty() ? std::string() : fmt::format("\x1b[{}m{}\x1b[0m", code_of(ink), text);
}

bool takes_ink(ColourWish wish, bool is_terminal, const Environment& environment) {
  if (wish != ColourWish::automatic) return wish == ColourWish::always;
  if (!value_or(environment, "NO_COLOR").empty()) return false;
  if (is_set(environment, "CLICOLOR_FORCE") || is_set(environment, "FORCE_COLOR")) return true;
  return is_terminal && value_or(environment, "TERM") != "dumb";
}

std::string from_us(std::string_view text) {
  const std::string prefix = inked(Ink::dim, "safelaunch:") + " ";
  struct Label {
    std::string_view word;
    Ink ink;
  };
  constexpr std::array kLabels{Label{"warning:", Ink::warning}, Label{"risk:", Ink::warning},
                               Label{"help:", Ink::help}, Label{"retrying", Ink::bold}};
  for (const auto& [word, ink] : kLabels)
    if (text.starts_with(word))
      return prefix + inked(ink, word) + std::string(text.substr(word.size()));
  return prefix + std::string(text);
}

std::size_t columns(std::string_view text) {
  std::size_t count = 0;
  while (!text.empty()) {
    const std::size_t ink = ink_at(text);
    const CodePoint point = first_code_point(text);
    if (ink == 0) count += is_wide(point.value) ? 2 : 1;
    text.remove_prefix(std::min(ink != 0 ? ink : point.length, text.size()));
  }
  return count;
}

std::string wrapped(std::string_view text, std::size_t column, std::size_t width) {
  return broken(text, column, column, width);
}

std::string laid_out(std::string_view text, const Paper& paper) {
  const std::string plain = paper.colour ? std::string() : without_ink(text);
  if (!paper.colour) text = plain;
  if (paper.columns == 0) return std::string(text);
  std::string result;
  for (;;) {
    const std::size_t end = text.find('\n');
    result += wrapped_line(text.substr(0, end), static_cast<std::size_t>(paper.columns));
    if (end == std::string_view::npos) return result;
    result += '\n';
    text.remove_prefix(end + 1);
  }
}

}  // namespace safelaunch
