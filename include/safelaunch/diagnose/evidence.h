#pragma once

#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/base/exit_status.h"
#include "safelaunch/base/time.h"

namespace safelaunch {

/// How an attempt went wrong, as the watch saw it.
enum class Outcome {
  hung,       ///< a deadline passed; safelaunch ended the attempt
  stalled,    ///< it trained, and then stood still until safelaunch ended it
  rank_died,  ///< a rank's process ended although the job had not
  ended,      ///< the command itself ended, with a status other than 0
  mismatch,   ///< the ranks disagree about the world's size
  duplicate,  ///< a rank was given twice
};

/// Whether any rank has completed its first collective: from then on the job trains.
enum class Training { not_begun, begun };

/// A rank that others waited for, or that stuck among them.
struct MissingRank {
  Rank rank;
  Activity activity = Activity::unseen;
  std::string doing{};  ///< "sleeping in hrtimer_nanosleep"
  std::string where{};  ///< its Python function: "load_data (train.py:12)"
  bool inside = false;  ///< it had come to the stage, and did not come through
  std::string stack{};  ///< its Python frames, one a line
  bool known = true;    ///< a process has said to be it; else `doing` is what others may do for it
};

/// An exception that ended a rank, or that a collective of it raised.
struct Exception {
  std::optional<Rank> rank;
  std::string type;  ///< "torch.distributed.DistNetworkError"
  std::string message;
  std::string traceback;
  bool communication = false;  ///< the hook says that it came from torch.distributed, NCCL, JAX, …
};

/// A process of the job that ended.
struct Ended {
  std::optional<Rank> rank;
  std::optional<ExitStatus> status;  ///< unknown where the kernel does not tell
};

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
  Outcome outcome = Outcome::ended;
  Training training = Training::not_begun;
  std::optional<Stage> stage;  ///< that was waited for, or in which it failed
  Duration waited{0};          ///< since the first rank entered that stage
  std::vector<Rank> waiting;
  std::vector<MissingRank> missing;
  std::vector<Exception> exceptions;  ///< in order of time
  std::vector<Ended> ended;           ///< in order of time, before safelaunch stopped the rest
  std::vector<Rank> finished;         ///< whose program had come to its end, without an exception
  bool all_finished = false;          ///< every rank of the job is among them
  std::vector<Ended> ended_in_stop;   ///< while safelaunch stopped the job, or passed a signal on
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

}  // namespace safelaunch
