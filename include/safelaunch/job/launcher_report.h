#pragma once

#include <set>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/base/process.h"
#include "safelaunch/job/command.h"

namespace safelaunch::job {

/// The first failure that a launcher has seen, as its own output tells it. Each launcher tells a
/// different part.
struct LauncherFailure {
  std::optional<Rank> rank;
  std::optional<int> local_rank;
  std::optional<int> pid;
  std::optional<ExitStatus> status;
  std::string error_file;   ///< torch's JSON with the exception; empty where there is none
  bool last_words = false;  ///< nothing stands behind it: a launcher ends with its report
};

/// What the launcher's output says of its failure, the best source first: torchrun, accelerate and
/// torch.multiprocessing write to stderr, deepspeed to stdout. A job may print the words of another
/// run, so a worse source may be the launcher's own. The end of a long output is enough. Empty
/// where no launcher speaks of a failure.
[[nodiscard]] std::vector<LauncherFailure> read_launcher_failures(Launcher launcher,
                                                                  std::string_view text);

/// The first of them.
[[nodiscard]] std::optional<LauncherFailure> read_launcher_failure(Launcher launcher,
                                                                   std::string_view text);

/// The processes that a launcher says it now ends: torchrun's `Sending process 24 closing signal
/// SIGTERM`.
[[nodiscard]] std::set<int> told_to_end(std::string_view text);

/// The rank of a failure, if it can be told: torch.multiprocessing.spawn numbers its processes as
/// ranks; with other launchers a local rank is no rank.
[[nodiscard]] std::optional<Rank> rank_of(Launcher launcher, const LauncherFailure& failure);

/// Whether this launcher ends with a status of its own in place of its ranks': torchrun and
/// accelerate always with 1, deepspeed with 245 for signal 11.
[[nodiscard]] bool hides_statuses(Launcher launcher);

/// Whether a launcher that ended with `status` may be hiding this failure behind it.
[[nodiscard]] bool may_hide(Launcher launcher, const ExitStatus& status,
                            const LauncherFailure& failure);

/// The status of the rank that failed. `failure` is what the launcher surely said itself; where
/// nothing better is known it is the launcher's own status.
[[nodiscard]] ExitStatus unhide(Launcher launcher, const ExitStatus& status,
                                const std::optional<LauncherFailure>& failure);

}  // namespace safelaunch::job
