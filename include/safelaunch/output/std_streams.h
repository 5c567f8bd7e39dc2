#pragma once

#include <cstdint>
#include <utility>

#include "safelaunch/base/result.h"
#include "safelaunch/base/unique_fd.h"

namespace safelaunch::output {

enum class StdStream { out, err };

/// The target of one of our own standard streams.
struct StreamTarget {
  enum class Kind {
    terminal,
    other,   ///< a file, a pipe, a socket, /dev/null
    closed,  ///< the descriptor was not open at our start, or not for writing
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

/// The output that our standard streams did not take.
struct LostOutput {
  std::uint64_t bytes = 0;
  /// Why a file or device refused some of them: "No space left on device". Empty where none did,
  /// because the reader of a pipe, a socket or a terminal has gone, or the stream was closed.
  std::string refusal;
  bool refused_job = false;  ///< bytes of the job were among the refused ones
};

/// Looks at two descriptors, by default our own standard streams.
[[nodiscard]] StandardStreams inspect_streams(int out_fd = 1, int err_fd = 2);

/// Ignores SIGPIPE (a reader of our output has gone) and SIGXFSZ (a log has reached the file size
/// limit) from now on. Both come back as errors of write(2), which lose output but end nothing.
/// Children must get the dispositions that we were started with, so call this once those are noted.
void ignore_output_signals();

/// The two ends of a child's stdout and stderr. All are close-on-exec: the child gets its ends as
/// descriptors 1 and 2, and no other process gets any. Where our own stream is closed there are
/// none: the child is to have it as we have it, so that its writes fail as without us.
struct StreamPair {
  UniqueFd child_out;
  UniqueFd child_err;
  UniqueFd read_out;  ///< non-blocking
  UniqueFd read_err;  ///< non-blocking; none where the child has one stream for both
};

/// Decides about a child whose stdout and stderr end in one place on our side: it has one stream
/// for both (all of its output in its order) or still two (which can be told apart).
enum class Joining { as_ours, never };

/// Opens the streams for a child: pseudo-terminals where our own stream is a terminal, so that
/// progress bars and colours stay, else pipes. The pseudo-terminal changes no byte (OPOST is off,
/// since the real terminal behind us does that) and is as wide as ours less `columns_taken`. Where
/// no pseudo-terminal can be had, a pipe does. Fails if no descriptor is free.
[[nodiscard]] Result<StreamPair> open_stream_pair(const StandardStreams& ours, Joining joining,
                                                  int columns_taken = 0);

/// Gives the pseudo-terminal the size of our terminal, less `columns_taken`. Does nothing if one of
/// the two is no terminal.
void copy_window_size(int our_fd, int pty_fd, int columns_taken);

/// The columns of the terminal; 80 where it does not tell them.
[[nodiscard]] int terminal_columns(int fd);

}  // namespace safelaunch::output
