#pragma once

#include "safelaunch/base/failure.h"
#include "safelaunch/base/finding.h"
#include "safelaunch/base/process.h"
#include "safelaunch/base/time.h"
#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/diagnose/evidence.h"
#include "safelaunch/job/command.h"
#include "safelaunch/launch/tree_stopper.h"
#include "safelaunch/output/job_output.h"
#include "safelaunch/ranks/node_ranks.h"
#include "safelaunch/ranks/ranks_seen.h"

namespace safelaunch::run {

/// How an attempt came to its end, as its machine has decided it.
struct AttemptOutcome {
  std::optional<Failure> verdict;
  bool training = false;  ///< every rank had its first collective behind it
  bool serves = false;    ///< or, of a server, it had answered requests
  /// The status of the launcher, or of the first worker that failed.
  std::optional<ExitStatus> command;
  std::optional<int> signal;       ///< the user's signal that stopped the job
  std::optional<int> late_signal;  ///< a user's signal while the job was being stopped already
  bool gave_way = false;           ///< ended by us for another profile, before it had failed
  std::string standstill;          ///< as it was told, where it lasted until the end
  /// For whom a rank waited that gave up by a timeout of its own.
  std::optional<Failure> timed_out;
  TimePoint timed_out_at{};
  /// When it failed: a rank died, or the training came to stand still. None: it went well, or was
  /// told to end.
  std::optional<TimePoint> failed_at;
};

/// All that is known of an attempt once it is over: its diagnosis rests on this.
struct AttemptRecord : AttemptOutcome {
  TimePoint began{};
  Duration took{};
  Duration failed_for{};  ///< since it had failed
  ranks::RanksSeen ranks;
  std::string ras;  ///< the trouble that NCCL's RAS reported; empty: none, or not asked
  std::vector<Finding> troubled_gpus;  ///< those of an attempt that ended with an error of CUDA's
  std::string stages;                  ///< "group 4/4 · collective 3/4"
  /// Processes that did not end though killed, or that are another user's.
  std::vector<launch::Survivor> survivors;
  std::vector<launch::Swept> swept;  ///< processes that its launcher had left running
  struct Tail {
    output::StreamId stream;
    std::string text;
  };
  /// It went well here, and its end is that of another node's attempt.
  bool ended_elsewhere = false;
  std::string ended_because;  ///< why the other nodes ended it; empty: it ended by itself
  std::vector<ranks::RankPicture> picture;  ///< the ranks of this node, as they were last seen
  /// The wait that a rank had given up in the ranks' life before this one.
  std::optional<Failure> timed_out_before;
  /// The last 64 KiB of each stream; of a hang, those until we stopped it.
  std::vector<Tail> tails;
};

/// Facts around an attempt that bear on its diagnosis.
struct AttemptContext {
  job::Launcher launcher = job::Launcher::opaque;
  bool ranks_below = true;  ///< the ranks of this node are our descendants
  int nodes = 1;
  bool autotuning = false;
  std::optional<diagnose::RendezvousPort> port;
  std::vector<int> former_pids;
  int retries_of_profile = 0;
  std::optional<int> oom_kills;              ///< OOM kills during the attempt
  std::vector<std::string> added_arguments;  ///< of the script's, those that the profile added
};

/// Whether an attempt ended well: the command with status 0 and no verdict against it.
[[nodiscard]] bool went_well(const AttemptRecord& record);

/// Puts the record of a failed attempt into the words of the diagnosis.
[[nodiscard]] diagnose::Evidence make_evidence(const AttemptRecord& record,
                                               const AttemptContext& context);

}  // namespace safelaunch::run
