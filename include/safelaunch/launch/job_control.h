#pragma once

#include "safelaunch/base/time.h"

namespace safelaunch::launch {

/// Obeys a SIGTSTP (Ctrl-Z), SIGTTIN or SIGTTOU to safelaunch. Stops every process of the job, then
/// ourselves, so that the shell takes its terminal back. When the shell lets us go on (`fg`, `bg`),
/// lets the job go on too, and returns how long all stood still: the caller moves the job's
/// deadlines by that time. Processes that were stopped before stay stopped.
Duration suspend_job();

/// Whether we may read from the shell's terminal: not in the background, and not without a
/// terminal. The supervisor has a session of its own, so the kernel does not hold it back.
[[nodiscard]] bool in_foreground();

}  // namespace safelaunch::launch
