#pragma once

#include <cstddef>
#include <optional>

#include "safelaunch/base/result.h"
#include "safelaunch/base/unique_fd.h"

/// The one reader of files that belong to the user or a neighbour: scripts, settings, logs,
/// records. At such a path there may be a pipe whose bytes the job needs, a FIFO that nobody writes
/// to, or a device without an end. And the one writer of files that are replaced as a whole.
namespace safelaunch {

/// The fate of a symbolic link in the path's last part.
enum class Links { followed, refused };

/// Opens a regular file for reading. It does not even open anything else: that would let the writer
/// of a FIFO go on, and the job would lose its bytes. Never waits. Errors: open(2) fails, or the
/// path is no regular file.
[[nodiscard]] Result<UniqueFd> open_user_file(const std::string& path,
                                              Links links = Links::followed);

/// This suffices for every script, hostfile or set of variables that people write.
inline constexpr std::size_t kMostOfUserFile = 1U << 20;

/// The first `most` bytes of a regular file; see open_user_file().
[[nodiscard]] Result<std::string> read_user_file(const std::string& path,
                                                 std::size_t most = kMostOfUserFile,
                                                 Links links = Links::followed);

/// As read_user_file(), for a caller who needs no reason: nullopt where the file cannot be read.
[[nodiscard]] std::optional<std::string> user_file_text(const std::string& path,
                                                        std::size_t most = kMostOfUserFile);

/// Opens a log of ours to append to it; makes it (0600) where it is missing. Others may write to
/// its folder: a file of theirs, a FIFO or a link is refused, and never waited for.
[[nodiscard]] Result<UniqueFd> open_to_append(const std::string& path);

/// Writes a file (0600) so that a reader sees the old one or the new one, never
/// a part, even if safelaunch is killed: under a temporary name, then renamed. Of two that write at
/// once the later one stays. The file is not synced: every start would wait for the disk, and only
/// a crash of the machine, which ends the job too, could lose it. Errors: the disk refuses, and
/// errno says why; the old file is then untouched, and no other is left.
[[nodiscard]] Result<void> replace_file(const std::string& path, std::string_view text);

/// As replace_file(), for a file that all may read (0644).
[[nodiscard]] Result<void> replace_public_file(const std::string& path, std::string_view text);

/// As replace_file(), for what outlasts a run: settings, and what later runs remember. Makes the
/// missing folders (0700), and syncs the file, since a crash of the machine may otherwise leave an
/// empty one under its name.
[[nodiscard]] Result<void> replace_lasting_file(const std::string& path, std::string_view text);

}  // namespace safelaunch
