#pragma once

#include "safelaunch/base/result.h"
#include "safelaunch/job/command.h"

namespace safelaunch::job {

/// The command with so many processes on each node, whatever its own words say: launchers take the
/// last of several options, so one more is put before the script. Fails where the launcher has no
/// such option or we do not know where its script begins.
[[nodiscard]] Result<Command> with_processes(Command command, int processes_per_node);

}  // namespace safelaunch::job
