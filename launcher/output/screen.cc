#include "screen.h"

#include <limits>

#include "escape_filter.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/strings.h"

// Our own lines appear only between lines of the job. One variable, whether the job is within a
// line, decides whether a message or the transient line may be written now or waits; the transient
// line that is shown is remembered, so it is erased once and drawn only where it has changed.
namespace safelaunch::output {

// ---- lines that fit -----------------------------------------------------------------------------

namespace {

bool is_control(char32_t value) {
  return value < 0x20 || (value >= 0x7f && value < 0xa0);
}

}  // namespace

std::string fit_to_columns(std::string_view line, int columns) {
  std::string fitted;
  bool coloured = false;
  while (!line.empty()) {
    const std::size_t sequence = line.front() == '\x1b' ? harmless_sequence(line) : 0;
    if (sequence == std::string_view::npos) break;
    if (sequence > 0) {
      if (line[sequence - 1] == 'm') fitted += line.substr(0, sequence), coloured = true;
      line.remove_prefix(sequence);
      continue;
    }
    const CodePoint point = first_code_point(line);
    if (point.kind == CodePoint::Kind::valid && !is_control(point.value)) {
      columns -= is_wide(point.value) ? 2 : 1;
      if (columns < 0) break;
      fitted += line.substr(0, point.length);
    }
    line.remove_prefix(point.length);
  }
  if (coloured) fitted += "\x1b[0m";
  return fitted;
}

namespace {

std::string fit_keeping_last_word(std::string_view line, int columns) {
  std::string fitted = fit_to_columns(line, columns);
  if (fitted == fit_to_columns(line, std::numeric_limits<int>::max())) return fitted;
  const std::string end = "… " + std::string(line.substr(line.rfind(' ') + 1));
  const int width = static_cast<int>(safelaunch::columns(end));
  return width > columns ? fitted : fit_to_columns(line, columns - width) + end;
}

}  // namespace

std::string fit_status(std::string_view line, int columns) {
  constexpr std::string_view kBetween = " · ";
  std::string shown(line);
  while (static_cast<int>(safelaunch::columns(shown)) > columns) {
    const std::size_t first = line.find(kBetween);
    if (first == std::string_view::npos) break;
    line.remove_prefix(first + kBetween.size());
    shown = "… " + std::string(line);
  }
  return fit_keeping_last_word(shown, columns);
}

// ---- the screen ---------------------------------------------------------------------------------

namespace {

// Moves to the first column and erases to the end of the line.
constexpr std::string_view kEraseLine = "\r\x1b[K";

// Filters our messages like the job's lines, because they quote the job (a traceback, its last
// line).
void append_harmless(std::string_view text, std::string& out) {
  EscapeFilter filter;
  filter.pass(text, out);
  filter.finish(out);
}

}  // namespace

bool Screen::is_plain() const {
  return shown_.empty() && messages_.empty() && status_.empty() && preview_.empty();
}

void Screen::note_job(std::string_view bytes) {
  if (!bytes.empty()) mid_line_ = bytes.back() != '\n';
}

void Screen::job(std::string_view bytes, std::string& out) {
  if (bytes.empty()) return;
  erase(out);
  out += bytes;
  note_job(bytes);
  if (!mid_line_) put_messages(out);
  refresh(out);
}

void Screen::message(std::string_view text, std::string& out) {
  const int columns = kind_ == Kind::terminal ? columns_ : 0;
  quote(laid_out(text, {columns, ink_}), out);
}

void Screen::quote(std::string_view text, std::string& out) {
  if (kind_ == Kind::terminal) {
    append_harmless(text, messages_);
  } else {
    messages_ += text;
  }
  messages_ += '\n';
  if (mid_line_) return;
  put_messages(out);
  refresh(out);
}

void Screen::break_line(std::string& out) {
  if (!mid_line_) return;
  out += '\n';
  mid_line_ = false;
  put_messages(out);
  refresh(out);
}

void Screen::set_status(std::string_view line) {
  if (kind_ == Kind::terminal) status_ = line;
}

void Screen::set_preview(std::string_view line) {
  if (kind_ == Kind::terminal) preview_ = line;
}

void Screen::refresh(std::string& out) {
  if (mid_line_) return;
  std::string wanted = transient();
  if (wanted == shown_) return;
  erase(out);
  out += wanted;
  shown_ = std::move(wanted);
}

void Screen::erase(std::string& out) {
  if (shown_.empty()) return;
  out += kEraseLine;
  shown_.clear();
}

void Screen::put_messages(std::string& out) {
  if (messages_.empty()) return;
  erase(out);
  out += messages_;
  messages_.clear();
}

// Leaves one column free, since a terminal may wrap as soon as the last one is written.
std::string Screen::transient() const {
  return preview_.empty() ? fit_status(status_, columns_ - 1)
                          : fit_to_columns(preview_, columns_ - 1);
}

}  // namespace safelaunch::output
