#pragma once

#include <optional>
#include <string>

#include "safelaunch/host/activity.h"

namespace safelaunch::host {

/// What a process tree waits in, where it has used next to no CPU and no files between two samples
/// and has started nothing; nullopt where it has, or is in a person's hands. The samples may be
/// minutes apart, so this asks for less CPU than `classify` takes for work.
[[nodiscard]] std::optional<std::string> stood_still(const TreeSample& before,
                                                     const TreeSample& after);

}  // namespace safelaunch::host
