#pragma once

#include <span>
#include <string>

#include "safelaunch/base/event.h"

namespace safelaunch {

/// "rank 3", "ranks 0 3 7", "ranks 0-5 9": for a person, so long runs are shortened and after a
/// dozen pieces the rest is counted. The ranks are in rising order.
[[nodiscard]] std::string rank_list(std::span<const Rank> ranks);

}  // namespace safelaunch
