#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "safelaunch/base/event.h"
#include "safelaunch/base/exit_status.h"
#include "safelaunch/job/command.h"

namespace safelaunch::job {

/// The first failure that a launcher has seen, as its own output tells it. Each launcher tells
/// another part.
struct LauncherFailure {
  std::optional<Rank> rank;
  std::optional<int> local_rank;
  std::optional<int> pid;
  std::optional<ExitStatus> status;
  std::string error_file;  ///< torch's JSON with the exception; empty where there is none
};

/// Looks for it in what the launcher wrote: torchrun, accelerate and torch.multiprocessing write to
/// stderr, deepspeed to stdout. The end of a long output is enough. nullopt where no launcher
/// speaks of a failure.
[[nodiscard]] std::optional<LauncherFailure> read_launcher_failure(Launcher launcher,
                                                                   std::string_view text);

/// The rank that a failure is about, if that can be told: torch.multiprocessing.spawn numbers its
/// processes as ranks; elsewhere a local rank is none.
[[nodiscard]] std::optional<Rank> rank_of(Launcher launcher, const LauncherFailure& failure);

/// The status of the rank that failed, which launchers hide: torchrun and accelerate always exit 1,
/// deepspeed turns signal 11 into 245. The launcher's own where nothing better is known.
[[nodiscard]] ExitStatus unhide(Launcher launcher, const ExitStatus& status,
                                const std::optional<LauncherFailure>& failure);

}  // namespace safelaunch::job
