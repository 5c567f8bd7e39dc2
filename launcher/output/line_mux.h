#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "escape_filter.h"
#include "safelaunch/base/time.h"

namespace safelaunch::output {

/// Makes one stream of whole lines out of the output of many workers. A value: it reads no clock
/// and writes nothing; it appends the bytes for the output to the caller's string.
///
/// A line is passed on when its newline comes, with the source's prefix before it. Until then it is
/// held, up to kLongestHeld bytes. Three things can go wrong with a line, and each has its answer:
///
///   it is longer than that      its source owns the output: the line goes on in pieces, the other
///                               sources' lines wait until its newline
///   its newline does not come   after kIdle it is shown as it stands (a prompt, a progress bar).
///                               On a terminal it is a preview, which gives way to other lines;
///                               elsewhere, where nothing can be taken back, the source owns the
///                               output
///   the owner lets others wait  after kPatience (kPatienceWithWriter while it still writes) a
///                               newline is put in, and the others have their turn; nobody's
///                               output can stop somebody else's training
///
/// On a terminal every source passes through an EscapeFilter, colours end with their line, and of
/// what a line has overwritten with \r only the last is passed on, as one would see it.
class LineMux {
 public:
  enum class Target { terminal, file };

  static constexpr std::size_t kLongestHeld = 64 * 1024;
  static constexpr Duration kIdle{100};
  static constexpr Duration kPatience{1000};
  static constexpr Duration kPatienceWithWriter{10'000};

  explicit LineMux(Target target) : target_(target) {}

  /// Adds a source and returns its number. The prefix stands before each of its lines.
  std::size_t add_source(std::string prefix);

  /// Takes the bytes that the source wrote.
  void feed(std::size_t source, std::string_view bytes, TimePoint now, std::string& lines);

  /// Ends the source. A last line without a newline is given one.
  void close(std::size_t source, TimePoint now, std::string& lines);

  /// Shows a line that has been idle, or breaks one that others have waited for too long. Call it
  /// at next_tick().
  void tick(TimePoint now, std::string& lines);
  [[nodiscard]] std::optional<TimePoint> next_tick() const;

  /// Tells that the output takes bytes again after a while in which it took none. No source is to
  /// blame for that time, so it does not count.
  void resume(TimePoint now);

  /// False while the source has to wait for another and has as much held as is allowed.
  [[nodiscard]] bool accepts(std::size_t source) const;

  /// The unfinished line to be shown below all others on a terminal; empty if there is none.
  [[nodiscard]] std::string preview() const;

 private:
  struct Source {
    std::string prefix;
    EscapeFilter filter;
    // The line so far; while another source owns the output, also whole lines before it.
    std::string held;
    TimePoint fed{};       // the time of its last write
    bool broken = false;   // its present line was broken once, so it is not shown early again
    bool waiting = false;  // it has lines, but another source owns the output
  };

  void pass(std::size_t source, std::string_view text, std::string& lines);
  void pass_whole_lines(Source& source, std::string_view& text, std::string& lines);
  void end_line(std::size_t source, std::string_view rest, std::string& lines);
  void hold(std::size_t source, std::string_view text, std::string& lines);
  void wait_for_owner(Source& source, std::string_view text, TimePoint now);
  void own(std::size_t source, std::string& lines);
  void break_owned_line(std::string& lines);
  void serve_waiting(TimePoint now, std::string& lines);
  [[nodiscard]] bool may_be_shown(std::size_t source) const;
  [[nodiscard]] TimePoint end_of_patience() const;

  Target target_;
  std::vector<Source> sources_;
  std::optional<std::size_t> owner_;  // the source in the middle of a line that is partly passed on
  std::optional<TimePoint> waiting_since_;  // the time since when a source waits for the owner
  std::optional<std::size_t> previewed_;    // the source whose unfinished line is the preview
  std::string safe_;                        // room for the filter to work in, kept for its capacity
};

}  // namespace safelaunch::output
