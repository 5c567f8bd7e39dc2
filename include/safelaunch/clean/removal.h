#pragma once

#include <span>
#include <variant>

#include "safelaunch/base/process.h"
#include "safelaunch/base/time.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/clean/stale_file.h"

namespace safelaunch::clean {

/// The way in which one process came to its end, or did not.
enum class EndResult {
  gone_before,  ///< it had ended already, or another process has its pid: no signal was sent
  ended,        ///< it ended after SIGTERM, within the grace
  killed,       ///< it ended by SIGKILL
  refused,      ///< the kernel did not let us signal it
  survived,     ///< it is still there: in uninterruptible sleep (state D)
};

[[nodiscard]] const char* name(EndResult result);

struct EndedProcess {
  ProcessId process;
  EndResult result = EndResult::gone_before;
};

/// The time that each step may take; the sum bounds the whole call.
struct EndLimits {
  Duration grace{10'000};  ///< the time from SIGTERM to SIGKILL
  Duration dying{2'000};   ///< the time from SIGKILL until we stop waiting
};

/// Ends the processes together: SIGTERM (and SIGCONT, so that a stopped one hears it), the grace,
/// SIGKILL. Signals go by pidfd, and the start time is compared before each, so a pid that was used
/// again is never signalled. Blocks, at most for the limits. Gives one result a process, in order.
[[nodiscard]] std::vector<EndedProcess> end_processes(std::span<const ProcessId> processes,
                                                      EndLimits limits = {});

/// The processes and files that earlier runs left behind.
struct Leftovers {
  std::vector<StaleProcess> processes;
  std::vector<StaleFile> files;
};

/// One leftover, and its fate: done, or planned.
struct Removal {
  std::variant<StaleProcess, StaleFile> what;
  std::string done;  ///< "ended", "would be removed", "left alone", or why it is still there
};

/// Tells what `remove` would do.
[[nodiscard]] std::vector<Removal> plan_removal(const Leftovers& left,
                                                settings::CleanPolicy policy);

/// Ends the processes and removes the files that the policy allows; safelaunch cleans in no other
/// way. Each leftover is looked at again just before. Processes come first, in the order of `left`.
/// Blocks while processes end.
[[nodiscard]] std::vector<Removal> remove(const Leftovers& left, settings::CleanPolicy policy);

/// "ended: pid 71 (python train.py), …", "removed: /dev/shm/nccl-vR6Fzi (9.2 MiB): …".
[[nodiscard]] std::string describe(const Removal& removal);

}  // namespace safelaunch::clean
