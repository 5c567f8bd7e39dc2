#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "safelaunch/base/disk_queue.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch::report {

/// The folder of this user's runs: $XDG_STATE_HOME/safelaunch/runs, else
/// ~/.local/state/safelaunch/runs; empty without XDG_STATE_HOME and HOME.
[[nodiscard]] std::filesystem::path runs_directory(const Environment& environment);

/// The folder of runs for the case that the usual one cannot be written:
/// $TMPDIR/safelaunch-UID/runs, or the same below /tmp without TMPDIR.
[[nodiscard]] std::filesystem::path temporary_runs_directory(const Environment& environment);

/// Both folders, in which runs are found again.
[[nodiscard]] std::vector<std::filesystem::path> places_of_runs(const Environment& environment);

/// A new name for a run: unique, and sorted by time. "20261120-153012-a1b2c3".
[[nodiscard]] std::string new_run_id();

/// Makes the folder that the user named by an option ("--log-dir"), and tries whether files can be
/// made there. A disk that is full for the moment is no error.
[[nodiscard]] Result<void> make_named_folder(std::string_view option,
                                             const std::filesystem::path& folder);

/// The folder that holds everything about one job (mode 0700). The job goes on if it cannot be
/// written: the folder then moves to TMPDIR or /tmp, and if that fails too, nothing is recorded.
class RunDirectory {
 public:
  /// Makes the folder `wanted` (--run-dir), or a new one below runs_directory() if that is empty.
  /// Two runs never share a folder: if `wanted` holds a run already, this run gets a folder in it.
  /// Fails only for a `wanted` that cannot be made or written, since the user named it.
  static Result<RunDirectory> create(const std::filesystem::path& wanted, const std::string& run_id,
                                     const Environment& environment);

  /// The folder; empty if nothing can be recorded.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Why the folder is elsewhere than wanted, or is missing; empty if all is as usual.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  /// Makes the folder `attempt-1-basic`; empty if nothing can be recorded.
  [[nodiscard]] std::filesystem::path attempt(int number, std::string_view profile) const;

 private:
  [[nodiscard]] std::optional<Error> settle_in(const std::filesystem::path& wanted,
                                               const std::string& run_id);

  std::filesystem::path path_;
  std::string trouble_;
};

/// Whether the path is a folder of this user, and no link to one.
[[nodiscard]] bool is_folder_of_ours(const std::filesystem::path& path);

/// Has the disk's own thread replace a file (replace_file()), so that a frozen file system delays
/// nobody. Its folder is made where it is missing (mode 0700). If the disk refuses, that file is
/// lost and nothing else.
void write_later(DiskQueue& disk, std::filesystem::path file, std::string text);

}  // namespace safelaunch::report
