#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace safelaunch::nccl {

/// The files into which NCCL_DEBUG_FILE sends the log: a folder, and a name in which each %h stands
/// for the host and each %p for the pid.
struct LogFile {
  std::string directory;  ///< "." for a bare name
  std::string name;       ///< "nccl.%h.%p"
};

/// Takes a value of NCCL_DEBUG_FILE apart. nullopt for stdout and stderr, which are no files to
/// read, and where %h or %p stand in the folder.
[[nodiscard]] std::optional<LogFile> parse_nccl_log_file(std::string_view value);

/// Writes a folder as a part of NCCL_DEBUG_FILE: NCCL reads '%%' as '%'.
[[nodiscard]] std::string escape_for_nccl(std::string_view directory);

/// True if NCCL can have made a file called `file` from the pattern `name`.
[[nodiscard]] bool is_nccl_log(std::string_view file, std::string_view name);

}  // namespace safelaunch::nccl
