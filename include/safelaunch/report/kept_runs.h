#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/process_id.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "safelaunch/report/run_record.h"
#include "safelaunch/report/summary.h"

namespace safelaunch::report {

/// A run that is kept in a place where runs are, or to which a link there leads (--run-dir).
struct KnownRun {
  std::string id;
  std::filesystem::path directory;  ///< its own, no link
  std::filesystem::path entry;      ///< in the place: the same, or the link
  std::filesystem::file_time_type began;
};

/// The runs of the places, oldest first. A place that is not ours is passed over: in a folder that
/// all may write to, somebody else may have made what looks like ours.
[[nodiscard]] std::vector<KnownRun> known_runs(std::span<const std::filesystem::path> places);

/// True for a folder that holds a run.
[[nodiscard]] bool is_run(const std::filesystem::path& directory);

/// The id that the record in a folder gives; empty where there is none.
[[nodiscard]] std::string recorded_id(const std::filesystem::path& directory);

/// What one line of `safelaunch runs` tells.
struct RunLine {
  KnownRun run;
  std::vector<std::string> command;  ///< redacted when it was recorded
  ProcessId process;                 ///< of its safelaunch
  std::string boot_id;
  std::string started;                ///< ISO 8601, UTC
  Duration took{};                    ///< until its last record
  std::optional<RunSummary> outcome;  ///< nullopt: it has not ended, or was cut off
  RunRecord::State state = RunRecord::State::cut_off;
};

/// Reads the two small files that tell it. Whether a run without an outcome still runs is for the
/// caller to find out.
[[nodiscard]] RunLine read_run_line(const KnownRun& run);

/// "completed", "completed with no-shm", "hung (rank-missing), status 124", "running", "cut off".
[[nodiscard]] std::string end_in_words(const RunLine& line);

/// The command as one line of plain text.
[[nodiscard]] std::string command_in_words(const RunLine& line);

/// The table of `safelaunch runs`, the newest last; a run that is kept elsewhere says where.
[[nodiscard]] std::string render(std::span<const RunLine> lines);

/// The same as JSON.
[[nodiscard]] std::string runs_json(std::span<const RunLine> lines);

/// The folder of the run that a user means: a path, an ID, or a part of it that only one has; the
/// newest of all runs where nothing is named. `places` are the folders that hold runs. The error
/// (Errc::usage) says which runs come near.
[[nodiscard]] Result<std::filesystem::path> find_run(std::string_view named,
                                                     std::span<const std::filesystem::path> places);

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
