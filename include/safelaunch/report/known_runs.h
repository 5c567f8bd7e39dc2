#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "safelaunch/base/process_id.h"
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

}  // namespace safelaunch::report
