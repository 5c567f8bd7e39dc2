#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "safelaunch/base/time.h"
#include "safelaunch/output/std_streams.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch::output {

/// The one way to our own stdout and stderr, for the job's output and for ours. It never blocks
/// (but in flush()) and never fails: bytes that a slow reader does not take are kept (has_room()
/// says when to stop), bytes for a closed stream are dropped and counted.
///
/// The job's bytes pass unchanged. Our status line and messages go to stderr and keep out of the
/// job's lines (see Screen). There is one for a whole run. It must not outlive the io_context; use
/// it on the thread that runs that.
class TerminalWriter {
 public:
  TerminalWriter(boost::asio::io_context& io, const StandardStreams& streams);
  TerminalWriter(const TerminalWriter&) = delete;
  TerminalWriter& operator=(const TerminalWriter&) = delete;
  ~TerminalWriter();

  void write_job(StdStream stream, std::string_view bytes);

  /// Shows the job's unfinished line below its whole lines. Does nothing unless the stream is a
  /// terminal.
  void set_preview(StdStream stream, std::string_view line);

  /// Shows our status line; an empty one takes it away. Does nothing unless stderr is a terminal.
  void set_status(std::string_view line);

  /// Writes lines of ours, given without the last newline, wrapped at the width of a terminal. In
  /// the middle of a job's line they wait until it ends. A line that has not gone on for 100 ms is
  /// ended by us.
  void write_message(std::string_view text);

  /// As write_message, for lines that stay as they are: the last words of a rank.
  void write_quote(std::string_view text);

  /// Writes text without secrets, such as JSON, which the filter must leave as it is.
  void write_redacted(std::string_view text);

  /// Sends our messages and the status line through the filter from now on, because it takes
  /// secrets out.
  void filter_messages(std::function<std::string(std::string_view)> filter);

  /// Whether our messages keep their ink (see base/paper.h); by default they do not.
  void set_ink(bool colour);

  /// Tells that the terminal has another size (SIGWINCH).
  void window_changed();

  /// False while so much waits for a slow reader that the job should wait as well.
  [[nodiscard]] bool has_room(StdStream stream) const;

  /// True while nothing waits for a reader.
  [[nodiscard]] bool flushed() const;

  /// Calls `listener` whenever everything that waited has been taken. There is one listener; the
  /// next call replaces it.
  void on_flushed(std::function<void()> listener);

  /// Blocks until everything has been taken, messages that wait for a line's end among it, or until
  /// the limit is over. It is the last thing to do before we exit. True if all was taken.
  bool flush(Duration limit);

  /// The bytes that could not be written, because a stream is closed or its disk is full.
  [[nodiscard]] LostOutput lost() const;

  [[nodiscard]] const StandardStreams& streams() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace safelaunch::output
