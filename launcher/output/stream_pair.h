#pragma once

#include "safelaunch/base/result.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/output/std_streams.h"

namespace safelaunch::output {

/// The two ends of a child's stdout and stderr. All are close-on-exec: the child gets its ends as
/// descriptors 1 and 2, and no other process gets any.
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
