#include "screen.h"

#include "columns.h"
#include "escape_filter.h"

namespace safelaunch::output {
namespace {

// To the first column, and erase to the end of the line.
constexpr std::string_view kEraseLine = "\r\x1b[K";

// Our messages quote the job (a traceback, its last line) and pass the same filter.
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

// One column stays free: a terminal may wrap as soon as the last one is written.
std::string Screen::transient() const {
  return preview_.empty() ? fit_keeping_last_word(status_, columns_ - 1)
                          : fit_to_columns(preview_, columns_ - 1);
}

}  // namespace safelaunch::output
