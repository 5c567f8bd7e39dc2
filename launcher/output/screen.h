#pragma once

#include <string>
#include <string_view>

#include "safelaunch/output/fit.h"

namespace safelaunch::output {

/// Fits a status line, "import 2/2 · group 1/2 · waiting for rank 1 (idling) 12s/180s": the oldest
/// stages go first, then what stands before the clock, its last word.
[[nodiscard]] std::string fit_status(std::string_view line, int columns);

/// Composes the bytes for one output: the job's bytes, our messages, and on a terminal one
/// transient line below them (the preview of a job's unfinished line, else our status line). It is
/// a value: it appends the bytes to the caller's string.
///
/// The job's bytes are never changed. The transient line is taken away before them and drawn again
/// after them, but only where the job stands at the start of a line. Our messages never stand
/// within a line of the job.
class Screen {
 public:
  enum class Kind { terminal, file };

  explicit Screen(Kind kind) : kind_(kind) {}

  /// True if nothing of ours is on the screen or waits for it. Then the job's bytes may be written
  /// as they are, if note_job() is told of them.
  [[nodiscard]] bool is_plain() const;
  void note_job(std::string_view bytes);

  void job(std::string_view bytes, std::string& out);

  /// Takes one or more lines of ours, without the last newline, and lays them out for the terminal.
  /// In the middle of a job's line they wait.
  void message(std::string_view text, std::string& out);
  /// Takes lines that stay as they are: they quote, or a program reads them.
  void quote(std::string_view text, std::string& out);
  [[nodiscard]] bool message_waits() const { return !messages_.empty(); }

  /// Ends the job's unfinished line, which seems to stay, for the sake of the messages that wait.
  void break_line(std::string& out);

  /// Sets the transient line; refresh() shows it. An empty line takes it away. Without a terminal
  /// it has no effect.
  void set_status(std::string_view line);
  void set_preview(std::string_view line);
  void set_columns(int columns) { columns_ = columns; }
  void set_ink(bool colour) { ink_ = colour; }

  /// Brings the transient line up to date where that is possible. Appends nothing if it is.
  void refresh(std::string& out);

 private:
  void erase(std::string& out);
  void put_messages(std::string& out);
  [[nodiscard]] std::string transient() const;

  Kind kind_;
  int columns_ = 80;
  bool ink_ = false;
  bool mid_line_ = false;
  std::string status_;
  std::string preview_;
  std::string shown_;     // the transient line as it is on the screen
  std::string messages_;  // messages that wait
};

}  // namespace safelaunch::output
