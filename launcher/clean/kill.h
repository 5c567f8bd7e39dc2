#pragma once

#include <span>
#include <vector>

#include "safelaunch/base/process.h"
#include "safelaunch/base/time.h"

namespace safelaunch::clean {

/// The way in which one process came to its end, or did not.
enum class EndResult {
  gone_before,  ///< it had ended already, or another process has its pid: no signal was sent
  ended,        ///< after SIGTERM, within the grace
  killed,       ///< by SIGKILL
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
  Duration grace{10'000};  ///< from SIGTERM to SIGKILL
  Duration dying{2'000};   ///< from SIGKILL until we stop waiting
};

/// Ends the processes together: SIGTERM (and SIGCONT, so that a stopped one hears it), the grace,
/// SIGKILL. Signals go by pidfd, and the start time is compared before each, so a pid that was used
/// again is never signalled. Blocks, at most for the limits. Gives one result a process, in order.
[[nodiscard]] std::vector<EndedProcess> end_processes(std::span<const ProcessId> processes,
                                                      EndLimits limits = {});

}  // namespace safelaunch::clean
