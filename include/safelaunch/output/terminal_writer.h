#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "safelaunch/base/time.h"
#include "safelaunch/output/std_streams.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch::output {

/// The one way to our own stdout and stderr, for the job's output as for ours. It never blocks (but
/// in flush()) and never fails: what a slow reader does not take is kept (has_room() says when to
/// stop), what a closed one cannot take is dropped and counted.
///
/// The job's bytes pass unchanged. Our status line and messages go to stderr and keep out of the
/// job's lines (see Screen). One for a whole run; must not outlive the io_context; use it on the
/// thread that runs that.
class TerminalWriter {
 public:
  TerminalWriter(boost::asio::io_context& io, const StandardStreams& streams);
  TerminalWriter(const TerminalWriter&) = delete;
  TerminalWriter& operator=(const TerminalWriter&) = delete;
  ~TerminalWriter();

  void write_job(StdStream stream, std::string_view bytes);

  /// The job's unfinished line, shown below its whole lines; nothing unless the stream is a
  /// terminal.
  void set_preview(StdStream stream, std::string_view line);

  /// Our status line; empty takes it away. Nothing unless stderr is a terminal.
  void set_status(std::string_view line);

  /// Lines of ours, without the last newline. If the job is in the middle of a line they wait until
  /// it ends, or until it has not gone on for 100 ms and is ended by us.
  void write_message(std::string_view text);

  /// The same for what holds no secret any more, as JSON that must stay as it is.
  void write_redacted(std::string_view text);

  /// Our messages and the status line pass through it from now on: it takes secrets out.
  void filter_messages(std::function<std::string(std::string_view)> filter);

  /// The terminal has another size (SIGWINCH).
  void window_changed();

  /// False while so much waits for a slow reader that the job should wait, too.
  [[nodiscard]] bool has_room(StdStream stream) const;

  /// Nothing waits for a reader.
  [[nodiscard]] bool flushed() const;

  /// `listener` is called whenever all that waited has been taken. There is one: the next call
  /// replaces it.
  void on_flushed(std::function<void()> listener);

  /// Waits, blocking, until all has been taken, also messages that wait for a line's end; at most
  /// for `limit`. The last thing to do before we exit. Whether all was taken.
  bool flush(Duration limit);

  /// Bytes that could not be written, because a stream is closed or its disk is full.
  [[nodiscard]] std::uint64_t lost() const;

  [[nodiscard]] const StandardStreams& streams() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace safelaunch::output
