#pragma once

#include <csignal>
#include <optional>
#include <string_view>

#include "safelaunch/base/time.h"

namespace safelaunch::cli {

/// A screen that is drawn again and again, as top(1) has one: the terminal's second screen, given
/// back at the end, by Ctrl-C and while Ctrl-Z holds us. Of a stream that is no terminal it does
/// nothing but wait. One at a time, on the main thread: it takes the signals of the process.
class WatchedScreen {
 public:
  explicit WatchedScreen(int stream);
  WatchedScreen(const WatchedScreen&) = delete;
  WatchedScreen& operator=(const WatchedScreen&) = delete;
  ~WatchedScreen();

  [[nodiscard]] bool is_terminal() const { return is_terminal_; }

  /// Shows the text from the first row on, each line cut at the width; where lines do not fit the
  /// last row counts them. The text must be harmless.
  void draw(std::string_view text);

  /// Waits; at once over where the window has changed. Returns the exit status of safelaunch once a
  /// signal ends it: 0 for Ctrl-C, which is the way to leave.
  [[nodiscard]] std::optional<int> wait(Duration time);

 private:
  void enter();
  void leave();
  void stop_until_continued();
  void write(std::string_view bytes) const;

  int stream_;
  bool is_terminal_;
  sigset_t taken_{};
  sigset_t before_{};
};

}  // namespace safelaunch::cli
