#pragma once

#include <filesystem>

/// The names in a run directory (docs/run-directory.md). Whatever has another name is somebody
/// else's: it is not read, and a run that holds it is not removed.
namespace safelaunch::report {

enum class RunName {
  foreign,  ///< safelaunch and what it starts make none of this name there
  folder,
  tree,    ///< a folder that is safelaunch's with all that is in it: an installed hook
  small,   ///< a file that is read whole
  record,  ///< a file that is read at both ends
  log,     ///< a file that is read from its end
  other,   ///< a file that is not read
};

/// What a path below a run directory, in its lexical form, is for.
[[nodiscard]] RunName run_name_of(const std::filesystem::path& relative);

/// Whether a name is that of an installed hook or plugin: hook-0123456789abcdef.
[[nodiscard]] bool is_installation(std::string_view name);

}  // namespace safelaunch::report
