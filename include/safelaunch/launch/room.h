#pragma once

#include "safelaunch/base/result.h"

namespace safelaunch::launch {

/// Whether the limits of this process (ulimit) leave room for a run of the smallest job. An error
/// names the limit that does not: it is better to start nothing than to break off later.
[[nodiscard]] Result<void> check_room();

}  // namespace safelaunch::launch
