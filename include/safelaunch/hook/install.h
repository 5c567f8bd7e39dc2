#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "safelaunch/base/embedded.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch::hook {

/// The Python files of the hook, as they were compiled in.
[[nodiscard]] std::span<const EmbeddedFile> hook_files();

/// Puts the hook's files under `cache_dir` (made if need be) and returns their directory, which is
/// named after their content: the next run finds it, with Python's compiled files in it, and two
/// versions of safelaunch do not meet. A directory that is damaged is made anew; several
/// safelaunches may do this at once. Errc::os if it cannot be written, or if it belongs to somebody
/// else or others may write to it: whoever can change it runs code in every worker.
[[nodiscard]] Result<std::filesystem::path> install_hook(const std::filesystem::path& cache_dir);

/// Adds to the environment of a command what lets the hook in, and tells it whom to talk to: the
/// installed directory comes first on PYTHONPATH, before what the user has there. `socket` is a
/// path, or `@name`; see docs/hook-protocol.md.
void add_hook_to(Environment& environment, const std::filesystem::path& directory,
                 std::string_view socket, std::string_view token);

}  // namespace safelaunch::hook
