#pragma once

#include <filesystem>
#include <span>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/installed_files.h"
#include "safelaunch/base/result.h"

namespace safelaunch::hook {

/// The Python files of the hook, as they were compiled in.
[[nodiscard]] std::span<const EmbeddedFile> hook_files();

/// Puts the hook's files under `cache_dir` (made if need be) and returns their directory. The
/// directory is named after their content: the next run finds it, with Python's compiled files in
/// it, and two versions of safelaunch do not meet. A damaged directory is made anew; several
/// safelaunches may do this at once. Errc::os if it cannot be written, or if it belongs to another
/// user or others may write to it, because anybody who can change it runs code in every worker.
[[nodiscard]] Result<std::filesystem::path> install_hook(const std::filesystem::path& cache_dir);

/// The directory under which install_hook() puts them; nothing is made.
[[nodiscard]] std::filesystem::path place_of_hook(const std::filesystem::path& cache_dir);

/// Adds the variables that let the hook in and that tell it the address of safelaunch. The
/// installed directory comes first on PYTHONPATH, before the user's entries. `socket` is a path, or
/// `@name`; see docs/hook-protocol.md.
void add_hook_to(Environment& environment, const std::filesystem::path& directory,
                 std::string_view socket, std::string_view token);

}  // namespace safelaunch::hook
