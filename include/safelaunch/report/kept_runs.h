#pragma once

#include <filesystem>
#include <functional>
#include <span>

#include "safelaunch/base/process.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "safelaunch/report/run_record.h"
#include "safelaunch/report/summary.h"

namespace safelaunch::report {

/// A run that is kept in a folder of runs, or elsewhere (--run-dir) with a link in that folder.
struct KnownRun {
  std::string id;
  std::filesystem::path directory;  ///< its run directory itself, never a link
  std::filesystem::path entry;  ///< its entry in the folder of runs: the run directory, or a link
  std::filesystem::file_time_type began;
};

/// The runs in these folders, oldest first. A folder of another user is passed over: where all may
/// write, somebody else may have made what looks like a run of ours.
[[nodiscard]] std::vector<KnownRun> known_runs(std::span<const std::filesystem::path> places);

/// Whether a folder holds a run.
[[nodiscard]] bool is_run(const std::filesystem::path& directory);

/// The run id in the job.json of a folder; empty without one.
[[nodiscard]] std::string recorded_id(const std::filesystem::path& directory);

/// One line of `safelaunch runs`.
struct RunLine {
  KnownRun run;
  std::vector<std::string> command;  ///< the command as recorded, without secrets
  ProcessId process;                 ///< the safelaunch that ran it
  std::string boot_id;
  std::filesystem::path log_dir;      ///< the folder of --log-dir, or empty
  std::string started;                ///< ISO 8601, UTC
  Duration took{};                    ///< from its beginning to its last record
  std::optional<RunSummary> outcome;  ///< none: it still runs, or was cut off
  RunRecord::State state = RunRecord::State::cut_off;
};

/// Reads job.json and outcome.json. A run without an outcome counts as cut off; the caller finds
/// out whether it still runs.
[[nodiscard]] RunLine read_run_line(const KnownRun& run);

/// "completed", "completed with no-shm", "hung (rank-missing), status 124", "running", "cut off".
[[nodiscard]] std::string end_in_words(const RunLine& line);

/// The command as one line of plain text.
[[nodiscard]] std::string command_in_words(const RunLine& line);

/// The table of `safelaunch runs`, the newest last, with the place of a run that is kept elsewhere.
[[nodiscard]] std::string render(std::span<const RunLine> lines);

/// The runs as JSON.
[[nodiscard]] std::string runs_json(std::span<const RunLine> lines);

/// The folder of the newest run. `places` are the folders that hold runs, which the error
/// (Errc::usage) names where none is recorded.
[[nodiscard]] Result<std::filesystem::path> newest_run(
    std::span<const std::filesystem::path> places);

/// The folder of the run that a user names by its path, its ID, or a part of the ID that no other
/// run has. An empty word names none. The error (Errc::usage) lists the runs that come near.
[[nodiscard]] Result<std::filesystem::path> find_run(std::string_view named,
                                                     std::span<const std::filesystem::path> places);

/// How many earlier runs are kept, and for how long; 0 means no limit.
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

/// One run, for the decision which runs are removed.
struct KeptRun {
  std::filesystem::path entry;           ///< its folder, or the link to one
  std::filesystem::file_time_type last;  ///< the time at which it was last written to
  RunLife life = RunLife::over;
};

/// The runs to remove: those beyond the newest `limits.runs`, and those last written to more than
/// `limits.days` ago. A running run always stays. If it is unknown whether a run is over, only its
/// age counts.
[[nodiscard]] std::vector<std::filesystem::path> runs_to_remove(
    std::vector<KeptRun> runs, KeepLimits limits, std::filesystem::file_time_type now);

/// Tells whether the run in a folder is over, by the process and the boot in its record.
using LifeTeller = std::function<RunLife(const std::filesystem::path& directory)>;

/// Removes runs beyond the limits from a folder of runs, and links that lead to no run any more.
/// Only a provable run is removed: a folder of ours, named by a run id that its job.json repeats.
/// Of a run that is kept elsewhere only the link is removed. Stops after a second; the next run of
/// safelaunch removes the rest.
void remove_old_runs(const std::filesystem::path& place, KeepLimits limits,
                     const LifeTeller& life_of);

/// Removes hooks and plugins of other versions of safelaunch (hook-HASH, plugin-HASH) that no run
/// has used for `limits.days`, and none since the oldest run that is not over began.
/// `oldest_running` tells that time; it is called only if there is something to remove.
void remove_old_installations(
    const std::filesystem::path& cache, KeepLimits limits,
    const std::function<std::filesystem::file_time_type()>& oldest_running);

}  // namespace safelaunch::report
