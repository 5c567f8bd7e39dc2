#include "watched_screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/output/fit.h"

// The signals are blocked and waited for, so none of them interrupts a row that is being written.
// The sequences are those of xterm (ctlseqs, "Alternate Screen Buffer" and "DECTCEM").
namespace safelaunch::cli {
namespace {

constexpr std::string_view kEnter = "\x1b[?1049h\x1b[?25l";  // the second screen, without a cursor
constexpr std::string_view kLeave = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kEraseLine = "\x1b[K";
constexpr std::string_view kEraseBelow = "\x1b[J";

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};

struct Window {
  int rows = 24;
  int columns = 80;
};

Window window_of(int stream) {
  winsize size{};
  if (::ioctl(stream, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0) return {};
  return {size.ws_row, size.ws_col};
}

timespec timespec_of(Duration time) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(time);
  return {seconds.count(), std::chrono::nanoseconds(time - seconds).count()};
}

}  // namespace

WatchedScreen::WatchedScreen(int stream) : stream_(stream), is_terminal_(::isatty(stream) != 0) {
  ::sigemptyset(&taken_);
  for (const int signal : kSignals) ::sigaddset(&taken_, signal);
  if (!is_terminal_) return;
  ::pthread_sigmask(SIG_BLOCK, &taken_, &before_);
  enter();
}

WatchedScreen::~WatchedScreen() {
  if (!is_terminal_) return;
  leave();
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void WatchedScreen::draw(std::string_view text) {
  const Window window = window_of(stream_);
  while (text.ends_with('\n')) text.remove_suffix(1);
  const auto lines = static_cast<int>(std::ranges::count(text, '\n')) + 1;
  const int shown = lines <= window.rows ? lines : window.rows - 1;
  std::string screen(kHome);
  for (int row = 0; row < shown; ++row)
    screen += fmt::format("{}{}{}", row == 0 ? "" : "\r\n", kEraseLine,
                          output::fit_to_columns(take_word(text, '\n'), window.columns));
  if (shown < lines) screen += fmt::format("\r\n{}… {} lines more", kEraseLine, lines - shown);
  write(screen.append(kEraseBelow));
}

std::optional<int> WatchedScreen::wait(Duration time) {
  const timespec limit = timespec_of(time);
  if (!is_terminal_) {
    ::nanosleep(&limit, nullptr);
    return {};
  }
  const int signal = ::sigtimedwait(&taken_, nullptr, &limit);
  if (signal == SIGTSTP) stop_until_continued();
  if (signal <= 0 || signal == SIGWINCH || signal == SIGTSTP) return {};
  return signal == SIGINT ? 0 : 128 + signal;
}

void WatchedScreen::enter() {
  write(kEnter);
}

void WatchedScreen::leave() {
  write(kLeave);
}

void WatchedScreen::stop_until_continued() {
  leave();
  ::raise(SIGSTOP);
  enter();
}

void WatchedScreen::write(std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::write(stream_, bytes.data(), bytes.size());
    if (written <= 0) return;  // the terminal has gone; SIGHUP tells it, too
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace safelaunch::cli
