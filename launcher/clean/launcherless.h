#pragma once

#include <vector>

#include "safelaunch/base/time.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/host/sockets.h"

/// A closer look at ranks without a launcher.
namespace safelaunch::clean {

/// Adds to each rank's holdings the ports on which it listens and the GPUs that it has open.
void take_inventory(const std::vector<Candidate*>& ranks);

/// Looks twice at each rank and everything below it, `between` apart, and notes whether it works.
void watch_for_work(const std::vector<Candidate*>& ranks, Duration between);

/// Compares two looks. Any movement counts as work, however little: a training that waits for its
/// data must not be taken for a dead one.
[[nodiscard]] Work work_between(const host::TreeSample& before, const host::TreeSample& after,
                                std::span<const host::Socket> connections, bool has_gpu);

}  // namespace safelaunch::clean
