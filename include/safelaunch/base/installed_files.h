#pragma once

#include <filesystem>
#include <span>
#include <string_view>

#include "safelaunch/base/result.h"

namespace safelaunch {

/// One file that was compiled into the executable (cmake/SafelaunchEmbed.cmake).
struct EmbeddedFile {
  std::string_view path;  ///< relative, as in the source tree
  std::string_view text;
};

/// Files that were compiled into us and that workers load from a directory.
struct FileSet {
  std::string_view name;   ///< "hook": what the directory's name begins with
  std::string_view title;  ///< "the Python hook", for messages
  std::span<const EmbeddedFile> files;
};

/// Puts the files under `cache_dir` (made if need be) and returns their directory. Its name comes
/// from the content: the next run finds it again, with the files that Python has added, and two
/// versions of safelaunch do not meet. A damaged directory is made anew; several safelaunches may
/// do this at once. Errc::os where it cannot be written, or where others own it, or may write to it
/// or to a folder above it (trusted_path.h): their code would run in every worker.
[[nodiscard]] Result<std::filesystem::path> install(const FileSet& set,
                                                    const std::filesystem::path& cache_dir);

/// The directory under which install() puts them; nothing is made.
[[nodiscard]] std::filesystem::path place_of(const FileSet& set,
                                             const std::filesystem::path& cache_dir);

}  // namespace safelaunch
