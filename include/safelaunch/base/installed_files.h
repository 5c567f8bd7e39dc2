#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "safelaunch/base/embedded.h"
#include "safelaunch/base/result.h"

namespace safelaunch {

/// Files that were compiled into us and that workers load from a directory.
struct FileSet {
  std::string_view name;   ///< "hook": what the directory's name begins with
  std::string_view title;  ///< "the Python hook", for messages
  std::span<const EmbeddedFile> files;
};

/// Puts the files under `cache_dir` (made if need be) and returns their directory, which is named
/// after their content: the next run finds it, with what was added to it, and two versions of
/// safelaunch do not meet. A directory that is damaged is made anew; several safelaunches may do
/// this at once. Errc::os if it cannot be written, or if others own or may write to it or to a
/// folder above it (trusted_path.h): whoever can change it runs code in every worker.
[[nodiscard]] Result<std::filesystem::path> install(const FileSet& set,
                                                    const std::filesystem::path& cache_dir);

}  // namespace safelaunch
