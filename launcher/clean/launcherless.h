#pragma once

#include <vector>

#include "safelaunch/base/time.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/host/sockets.h"

/// A closer look at ranks without a launcher.
namespace safelaunch::clean {

/// Adds the ports on which each listens and the GPUs that it has open to what it holds.
void take_inventory(const std::vector<Candidate*>& ranks);

/// Looks at each rank and what is below it twice, `between` apart, and fills in whether it works.
void watch_for_work(const std::vector<Candidate*>& ranks, Duration between);

/// What a second look shows. Whatever moves counts as work, however little: a training that waits
/// for its data must not be taken for a dead one.
[[nodiscard]] Work work_between(const host::TreeSample& before, const host::TreeSample& after,
                                std::span<const host::Socket> connections, bool has_gpu);

}  // namespace safelaunch::clean
