#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <vector>

#include "safelaunch/base/process_id.h"

namespace safelaunch::report {

/// How much is kept of earlier runs; 0 of either: no limit of that kind.
struct KeepLimits {
  int runs = 200;
  int days = 30;
};

/// Whether a run is over.
enum class RunLife {
  over,
  running,
  unknown,  ///< it has no outcome, and its safelaunch is of another boot or host
};

/// A run as the decision needs it.
struct KeptRun {
  std::filesystem::path entry;           ///< its folder, or the link to one
  std::filesystem::file_time_type last;  ///< when it was written to
  RunLife life = RunLife::over;
};

/// Which of the runs (in any order) go: those beyond the newest `runs`, and those that were last
/// written to more than `days` ago. Never one that runs; one of which that is not known only by its
/// age.
[[nodiscard]] std::vector<std::filesystem::path> runs_to_remove(
    std::vector<KeptRun> runs, KeepLimits limits, std::filesystem::file_time_type now);

/// Tells the life of a run by its record's process and boot.
using LifeTeller = std::function<RunLife(const std::filesystem::path& directory)>;

/// Removes what is beyond the limits from a folder where runs are kept, and links that lead to no
/// run any more. Only what is provably a run: a folder of ours with an id for a name, in which
/// job.json says that id. Of a run that is kept elsewhere only the link. Gives up after a second:
/// the next run goes on.
void remove_old_runs(const std::filesystem::path& place, KeepLimits limits,
                     const LifeTeller& life_of);

/// Removes hooks and plugins of other versions of safelaunch (hook-HASH, plugin-HASH) that no run
/// has used for `days`, nor since the oldest run that is not over began, which is asked only where
/// there is something to remove.
void remove_old_installations(
    const std::filesystem::path& cache, KeepLimits limits,
    const std::function<std::filesystem::file_time_type()>& oldest_running);

}  // namespace safelaunch::report
