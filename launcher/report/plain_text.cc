#include "plain_text.h"

#include "safelaunch/base/utf8.h"

namespace safelaunch::report {
namespace {

constexpr char kEscape = '\x1b';
constexpr std::string_view kUnshowable = "\ufffd";

// The length of "ESC [ parameters final".
std::size_t control_sequence_length(std::string_view text) {
  std::size_t end = 2;
  while (end < text.size() && text[end] >= 0x20 && text[end] < 0x40) ++end;
  return end < text.size() && text[end] >= 0x40 && text[end] < 0x7f ? end + 1 : end;
}

// The length of "ESC ] … BEL" or "ESC ] … ESC \". One without an end hides only its own line.
std::size_t string_sequence_length(std::string_view text) {
  for (std::size_t end = 2; end < text.size(); ++end) {
    if (text[end] == '\a') return end + 1;
    if (text[end] == '\n') return end;
    if (text[end] == kEscape) return text.substr(end + 1, 1) == "\\" ? end + 2 : end;
  }
  return text.size();
}

// The length of the escape sequence at the front of the text.
std::size_t escape_length(std::string_view text) {
  constexpr std::string_view kStrings = "]P^_X";
  if (text.size() < 2) return text.size();
  if (text[1] == '[') return control_sequence_length(text);
  if (kStrings.find(text[1]) != std::string_view::npos) return string_sequence_length(text);
  std::size_t end = 1;
  while (end < text.size() && text[end] >= 0x20 && text[end] < 0x30) ++end;
  return end < text.size() && text[end] >= 0x30 && text[end] < 0x7f ? end + 1 : end;
}

bool is_unshowable(char32_t value) {
  const bool control = value < 0x20 || (value >= 0x7f && value < 0xa0);
  const bool turns_direction = (value >= 0x202a && value <= 0x202e) ||
                               (value >= 0x2066 && value <= 0x2069) || value == 0x200e ||
                               value == 0x200f;
  return control || turns_direction;
}

class PlainWriter {
 public:
  void put(std::string_view text) {
    if (overdrawn_) text_.resize(line_);
    overdrawn_ = false;
    text_ += text;
  }
  void end_line() {
    overdrawn_ = false;
    text_ += '\n';
    line_ = text_.size();
  }
  void to_line_start() { overdrawn_ = true; }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::size_t line_ = 0;  // the place where the present line begins
  bool overdrawn_ = false;
};

// Writes the first character or escape sequence of the text; returns its length.
std::size_t put_next(std::string_view text, PlainWriter& to) {
  if (text[0] == kEscape) return escape_length(text);
  if (text[0] == '\n') return to.end_line(), 1;
  if (text[0] == '\r') return to.to_line_start(), 1;
  if (text[0] == '\t') return to.put("\t"), 1;
  const CodePoint point = first_code_point(text);
  const bool shown = point.kind == CodePoint::Kind::valid && !is_unshowable(point.value);
  to.put(shown ? text.substr(0, point.length) : kUnshowable);
  return point.length;
}

}  // namespace

std::string plain_text(std::string_view bytes) {
  PlainWriter writer;
  while (!bytes.empty()) bytes.remove_prefix(put_next(bytes, writer));
  return writer.take();
}

}  // namespace safelaunch::report
