#pragma once

#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/exit_status.h"
#include "safelaunch/base/failure.h"
#include "safelaunch/base/time.h"
#include "safelaunch/launch/tree_stopper.h"
#include "safelaunch/output/job_output.h"
#include "safelaunch/run/ranks_seen.h"

namespace safelaunch::run {

/// How an attempt came to its end, as its machine has decided it.
struct AttemptOutcome {
  std::optional<Failure> verdict;
  bool training = false;              ///< every rank had its first collective behind it
  std::optional<ExitStatus> command;  ///< of the launcher, or of the first worker that failed
  std::optional<int> signal;          ///< the user's, which stopped the job
  std::optional<int> late_signal;     ///< the user's, while the job was being stopped already
  bool gave_way = false;              ///< ended by us for another profile, before it had failed
};

/// All that is known of an attempt once it is over: its diagnosis rests on this.
struct AttemptRecord : AttemptOutcome {
  Duration took{};
  RanksSeen ranks;
  std::string ras;     ///< what NCCL's RAS said is amiss; empty: nothing, or not asked
  std::string stages;  ///< "group 4/4 · collective 3/4"
  std::vector<launch::Survivor> survivors;  ///< not gone, though killed or another user's
  std::vector<launch::Swept> swept;         ///< what its launcher had left running
  struct Tail {
    output::StreamId stream;
    std::string text;
  };
  std::vector<Tail> tails;  ///< the last 64 KiB of each stream, of a hang until we stopped it
};

}  // namespace safelaunch::run
