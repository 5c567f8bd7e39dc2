#pragma once

#include <map>
#include <optional>

#include "safelaunch/base/event.h"
#include "safelaunch/report/record.h"
#include "safelaunch/watch/arrivals.h"

namespace safelaunch::ranks {

/// The slow rank of a job that trains: the one that comes last, and for which the others wait.
/// Compares collectives to which all ranks came that have told of their group. Nobody is named
/// unless it came last to three of four collectives, of 16 at least, and the others waited for it
/// for a twentieth of the time and a millisecond each. All ranks are on one host: clocks of several
/// hosts differ by more than that.
[[nodiscard]] std::optional<report::record::Straggler> find_straggler(
    const std::map<Rank, watch::Arrivals>& ranks);

}  // namespace safelaunch::ranks
