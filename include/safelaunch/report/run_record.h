#pragma once

#include <array>
#include <map>

#include "safelaunch/base/event.h"
#include "safelaunch/base/failure.h"
#include "safelaunch/base/finding.h"
#include "safelaunch/base/process.h"
#include "safelaunch/base/time.h"
#include "safelaunch/report/record.h"
#include "safelaunch/report/run_files.h"
#include "safelaunch/report/summary.h"

namespace safelaunch::report {

/// How many collectives a rank had finished at a time since the run began.
struct FinishedCollectives {
  Duration at{};
  std::int64_t count = 0;
};

/// How far one rank came in an attempt. Times are since the run began.
struct RankHistory {
  std::string host{};  ///< the host, where that is another node; empty: the rank ran on this one
  std::array<std::optional<Duration>, kStageCount> reached;
  std::optional<Duration> ended;
  std::string status;                           ///< "exit status 1"
  std::optional<FinishedCollectives> finished;  ///< none: it has not said
  bool told_to_end = false;  ///< it ended after a verdict, or after a signal to safelaunch
};

/// The verdict of the watch.
struct RecordedVerdict {
  Duration at{};
  std::string text;
  Failure failure;  ///< the verdict as far as it is recorded; waiting and missing ranks are sorted
};

/// Training stood still, and may have gone on afterwards.
struct Standstill {
  Duration at{};  ///< when it was told
  std::string text;
  int earlier = 0;              ///< standstills of the attempt before this one
  std::string over_after = {};  ///< how long it took; empty: it did not end
};

/// The figures of one look at the ranks, or at the GPUs.
template <class Figures>
struct Looked {
  Duration at{};  ///< the time since the run began
  Figures figures;
};

/// One line of env.diff.
struct EnvironmentChange {
  std::string change;  ///< "+ NCCL_P2P_DISABLE=1"
  std::string why;
};

/// All that is recorded of one attempt.
struct AttemptHistory {
  AttemptSummary told;  ///< the attempt in short; of one that has not ended, as far as it is known
  bool ended = false;
  Duration began{};
  Duration until{};  ///< its end, or the time of its last event
  std::optional<Duration> training;
  bool serves = false;  ///< what has begun then is a server
  /// The attempt is being stopped: after a verdict or a signal all ranks are told to end.
  bool stopping = false;
  std::map<Rank, RankHistory> ranks;
  std::optional<RecordedVerdict> verdict;
  std::optional<Standstill> standstill;        ///< the last standstill
  std::optional<record::Straggler> straggler;  ///< the last one
  std::string waiting;                         ///< the last text of the status line
  std::vector<record::Probe> probes;
  std::optional<record::Collectives> collectives;  ///< the last answers of the ranks
  std::vector<Looked<record::Usage>> usage;
  std::vector<Looked<record::Gpus>> gpus;
  std::vector<EnvironmentChange> environment;
  std::vector<RecordedFile> stacks;    ///< named "rank-3"
  std::vector<RecordedFile> evidence;  ///< the other files of evidence: "ras.txt"
  std::string nccl;  ///< "2.28.9 · network Socket · …"; empty where there was none
  std::vector<RecordedFile> logs;  ///< named "rank-0.err", "nccl.HOST.PID"; none is empty
};

/// One line of the list of all events.
struct RecordedLine {
  Duration at{};
  int attempt = 0;
  std::string what;  ///< the name of the event
  std::string text;
};

/// One run, read from its run directory, as text, page and bundle show it.
struct RunRecord {
  enum class State {
    ended,
    running,
    cut_off,  ///< its safelaunch is gone and has left no outcome
  };

  std::string id;
  std::string started;  ///< ISO 8601, UTC
  std::string working_directory;
  std::vector<std::string> options;  ///< the options of safelaunch, as given on the command line
  /// "train.py:50" -> the line of source, where it can still be read.
  std::map<std::string, std::string, std::less<>> sources;
  std::string directory;  ///< the run directory
  std::string boot_id;
  ProcessId process;  ///< the safelaunch that ran it
  State state = State::cut_off;
  RunSummary summary;  ///< holds only the attempts that ended
  Duration took{};
  std::vector<Finding> findings;
  std::optional<record::Ways> ways;  ///< the ways between the nodes
  std::optional<record::Host> host;  ///< where it took place
  std::vector<AttemptHistory> attempts;
  std::vector<RecordedLine>
      lines;  ///< All events but stages and figures; of too many, the middle is left out.
  std::size_t lines_left_out = 0;
  std::size_t unreadable = 0;  ///< lines of events.jsonl that are no event
};

/// Reads a run from the texts of its files. It accepts any state of them: no outcome, half a line,
/// or none of the files.
[[nodiscard]] RunRecord parse_run(const RunFiles& files);

/// The ranks to look at: those that were missing, or else the one that failed first.
[[nodiscard]] std::vector<Rank> suspects(const AttemptHistory& attempt);

/// Collectives a second after the start, of the rank that finished most; nullopt where no rank has
/// told it.
[[nodiscard]] std::optional<double> collectives_a_second(const AttemptHistory& attempt);

[[nodiscard]] const char* name(RunRecord::State state);

}  // namespace safelaunch::report
