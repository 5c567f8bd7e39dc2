#pragma once

#include <string>
#include <vector>

#include "safelaunch/base/time.h"
#include "safelaunch/host/left_files.h"

namespace safelaunch {

/// The segments in /dev/shm that an attempt has made: what its processes have mapped now, bears a
/// name that NCCL, torch or DeepSpeed give, is our user's and no older than the attempt. To be
/// asked before they are ended: who is killed leaves its segments behind, 34 MB a rank with NCCL,
/// and the next attempt finds less room.
[[nodiscard]] std::vector<LeftFile> segments_of_descendants(Duration age_of_attempt);

/// Of those, removes what is still there and what nobody at all has open. Returns what it removed.
/// To be called when all processes of the attempt have gone.
std::vector<LeftFile> remove_left_segments(const std::vector<LeftFile>& segments);

}  // namespace safelaunch
