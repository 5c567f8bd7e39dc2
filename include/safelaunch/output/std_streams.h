#pragma once

#include <cstdint>
#include <utility>

namespace safelaunch::output {

enum class StdStream { out, err };

/// What one of our own standard streams leads to.
struct StreamTarget {
  enum class Kind {
    terminal,
    other,   ///< a file, a pipe, a socket, /dev/null
    closed,  ///< the descriptor is not open: what is written there is dropped
  };
  int fd = -1;
  Kind kind = Kind::closed;
  /// The same for two descriptors that lead to the same file or terminal.
  std::pair<std::uint64_t, std::uint64_t> identity{};
};

/// Our stdout and stderr as we were given them.
struct StandardStreams {
  StreamTarget out;
  StreamTarget err;

  /// Both lead to the same place (`2>&1`, or a terminal): the order of what the job writes to one
  /// and to the other is then visible, and must stay.
  [[nodiscard]] bool joined() const;
  [[nodiscard]] const StreamTarget& operator[](StdStream stream) const {
    return stream == StdStream::out ? out : err;
  }
};

/// Looks at two descriptors, by default our own standard streams.
[[nodiscard]] StandardStreams inspect_streams(int out_fd = 1, int err_fd = 2);

/// SIGPIPE (a reader of our output has gone) and SIGXFSZ (a log has reached the file size limit)
/// are ignored from now on: both come back as errors of write(2), which lose output but end
/// nothing. Children must get the dispositions that we were started with: call this once those are
/// noted.
void ignore_output_signals();

}  // namespace safelaunch::output
