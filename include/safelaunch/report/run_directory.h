#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"

namespace safelaunch::report {

/// Where the runs of this user are kept: $XDG_STATE_HOME/safelaunch/runs, else
/// ~/.local/state/safelaunch/runs; empty where there is neither (no HOME).
[[nodiscard]] std::filesystem::path runs_directory(const Environment& environment);

/// Where they are kept if that cannot be written: $TMPDIR/safelaunch-UID/runs, TMPDIR being /tmp
/// where it is not set.
[[nodiscard]] std::filesystem::path temporary_runs_directory(const Environment& environment);

/// Both: the folders in which runs are found again.
[[nodiscard]] std::vector<std::filesystem::path> places_of_runs(const Environment& environment);

/// A name for a run that sorts by time and is not used twice: "20261120-153012-a1b2c3".
[[nodiscard]] std::string new_run_id();

/// The folder in which everything about one job is kept (mode 0700). Where it cannot be written the
/// job goes on: the folder moves to TMPDIR or /tmp, and where that fails too nothing is recorded.
class RunDirectory {
 public:
  /// `wanted` is --run-dir; empty: a new folder below runs_directory(). No two runs share one:
  /// where `wanted` holds a run already, this one gets a folder in it. Errors only for a `wanted`
  /// that cannot be made, since the user named it.
  static Result<RunDirectory> create(const std::filesystem::path& wanted, const std::string& run_id,
                                     const Environment& environment);

  /// Empty where nothing can be recorded.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Why it is not where it was wanted, or is nowhere; empty where all is as usual.
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

  /// Makes `attempt-1-basic`; empty where nothing can be recorded.
  [[nodiscard]] std::filesystem::path attempt(int number, std::string_view profile) const;

 private:
  [[nodiscard]] std::optional<Error> settle_in(const std::filesystem::path& wanted,
                                               const std::string& run_id);

  std::filesystem::path path_;
  std::string trouble_;
};

/// A folder of this user's, and no link to one.
[[nodiscard]] bool is_folder_of_ours(const std::filesystem::path& path);

/// Writes a file as a whole or not at all, whatever kills us (temporary file, rename); false where
/// the disk refuses, which is never a reason to stop a job. Not synced: only a crash of the machine
/// could tell, it would end the job too, and every start would wait for the disk.
[[nodiscard]] bool write_atomically(const std::filesystem::path& file, std::string_view text);

}  // namespace safelaunch::report
