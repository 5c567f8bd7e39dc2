#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "safelaunch/base/result.h"
#include "safelaunch/base/unique_fd.h"

/// How safelaunch reads files that are the user's or a neighbour's: scripts, settings, logs,
/// records. What stands at such a path may be a pipe whose bytes the job needs, a FIFO that nobody
/// writes to, or a device without an end.
namespace safelaunch {

/// What happens where the path's last part is a symbolic link.
enum class Links { followed, refused };

/// Opens a regular file for reading. Anything else is not even opened: opening a FIFO would let its
/// writer go on, and its bytes would be lost to the job. Never waits. Errors: what open reports, or
/// that it is no regular file.
[[nodiscard]] Result<UniqueFd> open_user_file(const std::string& path,
                                              Links links = Links::followed);

/// Enough for every script, hostfile or set of variables that people write.
inline constexpr std::size_t kMostOfUserFile = 1U << 20;

/// The first `most` bytes of a regular file; see open_user_file().
[[nodiscard]] Result<std::string> read_user_file(const std::string& path,
                                                 std::size_t most = kMostOfUserFile,
                                                 Links links = Links::followed);

/// The same for a caller who does not tell why not: nullopt where it cannot be read.
[[nodiscard]] std::optional<std::string> user_file_text(const std::string& path,
                                                        std::size_t most = kMostOfUserFile);

/// Opens a log of ours to append to it, and makes it (0600). It may lie in a folder that others
/// write to: what they have put there, a FIFO or a link is refused, and never waited for.
[[nodiscard]] Result<UniqueFd> open_to_append(const std::string& path);

}  // namespace safelaunch
