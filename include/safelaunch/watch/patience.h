#pragma once

#include <optional>

#include "safelaunch/watch/rank_state.h"

namespace safelaunch::watch {

/// How long the ranks that wait in a stage wait for the others; 0 waits for ever. The first four
/// are a profile's `timeouts`.
struct StageLimits {
  Duration init = std::chrono::seconds(180);        ///< rendezvous, group, communicator
  Duration collective = std::chrono::seconds(180);  ///< the first collective
  Duration quiet = std::chrono::seconds(30);        ///< for a rank that nothing will wake
  Duration work = std::chrono::minutes(30);         ///< for a rank that works, or is not seen
  Duration stopped = std::chrono::seconds(5);       ///< for a rank that is stopped all the time
};

/// The limit of the stage itself.
[[nodiscard]] Duration limit_of(Stage stage, const StageLimits& limits);

/// A deadline in job time.
struct Patience {
  std::optional<TimePoint> until;  ///< nullopt: for ever
  bool certain = false;  ///< the rank will not come: nobody else's work is a reason to wait longer
};

/// Until when a rank that has not come through `stage` is waited for, where the first of the others
/// began to wait at `since`. The table is in docs/stages.md.
[[nodiscard]] Patience patience_with(const RankState& rank, Stage stage, TimePoint since,
                                     TimePoint now, const StageLimits& limits);

}  // namespace safelaunch::watch
