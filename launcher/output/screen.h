#pragma once

#include <string>
#include <string_view>

namespace safelaunch::output {

/// The part of a line that fits into so many columns of a terminal. Colours (SGR) are kept, take no
/// column and are switched off at the end; other escape sequences and control characters are left
/// out, so that the result never moves the cursor but to the right.
[[nodiscard]] std::string fit_to_columns(std::string_view line, int columns);

/// The same, but what is cut out of a line that is too long lies before its last word: the clock of
/// a status line.
[[nodiscard]] std::string fit_keeping_last_word(std::string_view line, int columns);

/// Composes what is written to one output: the job's bytes, our messages, and on a terminal one
/// transient line below them (the preview of a job's unfinished line, else our status line). A
/// value: what is to be written is appended to the caller's string.
///
/// The job's bytes are never changed. The transient line is taken away before them and drawn again
/// after them, but only where the job stands at the start of a line; our messages never stand
/// within a line of the job.
class Screen {
 public:
  enum class Kind { terminal, file };

  explicit Screen(Kind kind) : kind_(kind) {}

  /// Nothing of ours is on the screen or waits for it: the job's bytes may be written as they are,
  /// if note_job() is told of them.
  [[nodiscard]] bool is_plain() const;
  void note_job(std::string_view bytes);

  void job(std::string_view bytes, std::string& out);

  /// One or more lines of ours, without the last newline. In the middle of a job's line they wait.
  void message(std::string_view text, std::string& out);
  [[nodiscard]] bool message_waits() const { return !messages_.empty(); }

  /// The job's unfinished line seems to stay: ends it, for the sake of the messages that wait.
  void break_line(std::string& out);

  /// What the transient line is to say; refresh() shows it. An empty line takes it away. No effect
  /// but on a terminal.
  void set_status(std::string_view line);
  void set_preview(std::string_view line);
  void set_columns(int columns) { columns_ = columns; }

  /// Brings the transient line up to date, where that is possible; nothing if it is already.
  void refresh(std::string& out);

 private:
  void erase(std::string& out);
  void put_messages(std::string& out);
  [[nodiscard]] std::string transient() const;

  Kind kind_;
  int columns_ = 80;
  bool mid_line_ = false;
  std::string status_;
  std::string preview_;
  std::string shown_;     // the transient line as it is on the screen
  std::string messages_;  // those that wait
};

}  // namespace safelaunch::output
