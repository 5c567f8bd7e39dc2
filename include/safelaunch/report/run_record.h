#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/base/failure.h"
#include "safelaunch/base/finding.h"
#include "safelaunch/base/process_id.h"
#include "safelaunch/base/time.h"
#include "safelaunch/report/run_files.h"
#include "safelaunch/report/summary.h"

namespace safelaunch::report {

/// How far one rank came in an attempt. Times are since the run began.
struct RankHistory {
  std::array<std::optional<Duration>, kStageCount> reached;
  std::optional<Duration> ended;
  std::string status;        ///< "exit status 1"
  bool told_to_end = false;  ///< it ended behind a verdict, or a signal to safelaunch
};

/// What the watch decided.
struct RecordedVerdict {
  Duration at{};
  std::string text;
  Failure failure;  ///< as far as it is recorded; waiting and missing ranks in rising order
};

/// One line of env.diff.
struct EnvironmentChange {
  std::string change;  ///< "+ NCCL_P2P_DISABLE=1"
  std::string why;
};

/// All that is recorded of one attempt.
struct AttemptHistory {
  AttemptSummary told;  ///< of one that has not ended: number, profile and what is known
  bool ended = false;
  Duration began{};
  Duration until{};  ///< its end, or the last that is known of it
  std::optional<Duration> training;
  bool stopping = false;  ///< a verdict has fallen, or a signal has come: all ranks are ended
  std::map<Rank, RankHistory> ranks;
  std::optional<RecordedVerdict> verdict;
  std::string waiting;  ///< the last status line
  std::vector<EnvironmentChange> environment;
  std::vector<RecordedFile> stacks;    ///< named "rank-3"
  std::vector<RecordedFile> evidence;  ///< what else was gathered: "ras.txt"
  std::string nccl;  ///< "2.28.9 · network Socket · …"; empty where there was none
  std::vector<RecordedFile> logs;  ///< named "rank-0.err", "nccl.HOST.PID"; none is empty
};

/// A line for the list of all that happened.
struct RecordedLine {
  Duration at{};
  int attempt = 0;
  std::string what;  ///< the event's name
  std::string text;
};

/// One run as its run directory tells it: what text, page and bundle show.
struct RunRecord {
  enum class State {
    ended,
    running,
    cut_off,  ///< it has no outcome, and its safelaunch is gone
  };

  std::string id;
  std::string started;  ///< ISO 8601, UTC
  std::string working_directory;
  std::string directory;  ///< the run directory
  std::string boot_id;
  ProcessId process;  ///< of its safelaunch
  State state = State::cut_off;
  RunSummary summary;  ///< its attempts are those that ended
  Duration took{};
  std::vector<Finding> findings;
  std::vector<AttemptHistory> attempts;
  std::vector<RecordedLine> lines;  ///< without the ranks' stages, the middle left out if too many
  std::size_t lines_left_out = 0;
  std::size_t unreadable = 0;  ///< lines of the record that are no event
};

/// Makes sense of the files' texts. Nothing is too broken for it: a run without an outcome, half a
/// line, none of the files.
[[nodiscard]] RunRecord parse_run(const RunFiles& files);

/// The ranks that were missing, or else the one that failed first: where to look.
[[nodiscard]] std::vector<Rank> suspects(const AttemptHistory& attempt);

[[nodiscard]] const char* name(RunRecord::State state);

}  // namespace safelaunch::report
