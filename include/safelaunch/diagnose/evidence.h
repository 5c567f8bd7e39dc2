#pragma once

#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/base/exit_status.h"
#include "safelaunch/base/failure.h"

namespace safelaunch::diagnose {

/// Whether any rank has completed its first collective: from then on the job trains.
enum class Training { not_begun, begun };

/// Text that a rank, the launcher or NCCL wrote; its tail is enough.
struct Output {
  std::string source;        ///< shown with a line of it: "stderr", "rank-3.err", "nccl.node7.4711"
  std::optional<Rank> rank;  ///< where all of it comes from one rank
  std::string text;
};

/// The host's own facts prove a cause: "/dev/shm has 64 MiB".
struct Confirmation {
  std::string cause;          ///< an id of the catalogue
  std::string fact;           ///< a sentence without its full stop
  std::optional<int> port{};  ///< that it is about
};

/// The port of the rendezvous.
struct RendezvousPort {
  int number = 0;
  enum class Choice { ours, users } choice = Choice::users;  ///< who may name another
};

/// All that is known when an attempt has ended. A plain value: whoever diagnoses reads no clock, no
/// file and no process.
struct Evidence {
  Failure failure;  ///< what the watch saw, and what the ranks did until the stop
  Training training = Training::not_begun;
  std::vector<Rank> finished;  ///< whose program had come to its end, without an exception
  bool all_finished = false;   ///< every rank of the job is among them
  /// While safelaunch stopped the job, or passed a signal on.
  std::vector<RankExited> ended_in_stop;
  std::optional<ExitStatus> command;  ///< how the command itself ended, if by itself
  bool command_hides = false;         ///< a launcher's own status, which tells of no rank's
  std::vector<Output> output;         ///< within one, in order of time
  std::vector<Confirmation> confirmations;
  std::vector<std::string> remarks;  ///< on a hang, whatever its cause; sentences, no full stops
  std::optional<int> signal;         ///< that somebody sent to safelaunch
  std::optional<int> oom_kills;      ///< of the job's cgroup during the attempt; unknown: none
  std::optional<RendezvousPort> port;
  std::vector<int> former_pids;  ///< of this job's earlier attempts
  int retries_of_profile = 0;    ///< how often this profile was already tried again
  int nodes = 1;                 ///< of the job
  bool autotuning = false;       ///< deepspeed --autotuning launches many times by itself
};

}  // namespace safelaunch::diagnose
