#pragma once

#include "safelaunch/base/time.h"

namespace safelaunch::launch {

/// What a SIGTSTP (Ctrl-Z), SIGTTIN or SIGTTOU to safelaunch comes to: stops every process of the
/// job, then ourselves, so that the shell takes its terminal back; returns when the shell goes on
/// with us (`fg`, `bg`), having let the job go on too. Processes that had been stopped before stay
/// so. Returns how long all stood still: deadlines of the job are to be moved by that much.
Duration suspend_job();

/// Whether the shell's terminal is ours to read from: false in the background, or without one. The
/// supervisor sits in a session of its own, so the kernel does not look after this.
[[nodiscard]] bool in_foreground();

}  // namespace safelaunch::launch
