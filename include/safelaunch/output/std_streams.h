#pragma once

#include <cstdint>
#include <utility>

namespace safelaunch::output {

enum class StdStream { out, err };

/// The target of one of our own standard streams.
struct StreamTarget {
  enum class Kind {
    terminal,
    other,   ///< a file, a pipe, a socket, /dev/null
    closed,  ///< the descriptor is not open, so everything written there is dropped
  };
  int fd = -1;
  Kind kind = Kind::closed;
  /// Equal for two descriptors that lead to the same file or terminal.
  std::pair<std::uint64_t, std::uint64_t> identity{};
};

/// Our stdout and stderr as we were given them.
struct StandardStreams {
  StreamTarget out;
  StreamTarget err;

  /// True if both lead to the same place (`2>&1`, or a terminal). Then a reader sees the order
  /// between stdout and stderr, so it must stay.
  [[nodiscard]] bool joined() const;
  [[nodiscard]] const StreamTarget& operator[](StdStream stream) const {
    return stream == StdStream::out ? out : err;
  }
};

/// Looks at two descriptors, by default our own standard streams.
[[nodiscard]] StandardStreams inspect_streams(int out_fd = 1, int err_fd = 2);

/// Ignores SIGPIPE (a reader of our output has gone) and SIGXFSZ (a log has reached the file size
/// limit) from now on. Both come back as errors of write(2), which lose output but end nothing.
/// Children must get the dispositions that we were started with, so call this once those are noted.
void ignore_output_signals();

}  // namespace safelaunch::output
