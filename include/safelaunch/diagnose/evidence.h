#pragma once

#include <map>

#include "safelaunch/base/event.h"
#include "safelaunch/base/failure.h"
#include "safelaunch/base/process.h"

namespace safelaunch::diagnose {

/// Whether any rank has completed its first collective: from then on the job trains.
enum class Training {
  not_begun,
  unseen,  ///< no rank was seen to come to torch, JAX or NCCL: it may have trained all the same
  begun,
  served,  ///< the job is a server, and has answered
};

/// Text that a rank, the launcher or NCCL wrote. The end of it is enough.
struct Output {
  std::string source;        ///< its name for the user: "stderr", "rank-3.err", "nccl.node7.4711"
  std::optional<Rank> rank;  ///< the rank, if all of the text is from one
  std::string text;
};

/// A fact of the host or of the ranks that proves a cause: "/dev/shm has 64 MiB".
struct Confirmation {
  std::string cause;          ///< an id of the catalogue
  std::string fact;           ///< one sentence without its full stop
  std::optional<int> port{};  ///< the port that the fact is about
};

/// A launcher's words on the rank that failed first.
struct ReportedExit {
  std::optional<Rank> rank;
  ExitStatus status;
};

/// The port of the rendezvous.
struct RendezvousPort {
  int number = 0;
  enum class Choice { ours, users } choice = Choice::users;  ///< chosen by safelaunch or not
};

/// All that is known when an attempt has ended. It is a plain value, so that the diagnosis reads no
/// clock, no file and no process.
struct Evidence {
  Failure failure;  ///< the verdict of the watch, and what the ranks did until the stop
  Training training = Training::not_begun;
  std::vector<Rank> finished;  ///< ranks whose program came to its end without an exception
  /// Every rank of the job is in one and the same collective, by its own word.
  bool all_in_one_collective = false;
  bool all_finished = false;  ///< `finished` holds every rank of the job
  /// Ranks that ended while safelaunch stopped the job, or passed a signal on.
  std::vector<RankExited> ended_in_stop;
  /// Exceptions that ended no rank, and keep one from the others: a rank that waits in a `finally`,
  /// a thread for which the rank waits.
  std::vector<RankRaised> hidden;
  /// Exceptions that ended processes which came as no rank, where ranks are missing that never
  /// came: their rank is 0.
  std::vector<RankRaised> nameless;
  /// Exceptions that ended the ranks' life before this one: their launcher has started them again.
  std::vector<RankRaised> raised_before;
  std::optional<Failure> wait_before;  ///< that life's end: a wait that timed out
  std::optional<ExitStatus> command;   ///< the status of the command, if it ended by itself
  bool command_hides = false;          ///< `command` is a launcher's own status, not a rank's
  /// What the command's launcher surely said itself; anybody may print such words in its place.
  std::optional<ReportedExit> told;
  std::vector<Output> output;  ///< lines within each text are in order of time
  std::vector<Confirmation> confirmations;
  std::vector<std::string> remarks;  ///< sentences on what happened, without full stops
  std::optional<int> signal;         ///< the first signal that safelaunch received
  std::optional<int> oom_kills;      ///< OOM kills in the job's cgroup; none if unknown
  std::optional<RendezvousPort> port;
  std::vector<int> former_pids;       ///< processes of this job's earlier attempts
  int retries_of_profile = 0;         ///< how often this profile was tried again already
  int nodes = 1;                      ///< number of nodes of the job
  std::map<Rank, std::string> hosts;  ///< the hosts of ranks on other nodes that raised or ended
  bool autotuning = false;            ///< deepspeed --autotuning, which starts many runs itself
};

}  // namespace safelaunch::diagnose
