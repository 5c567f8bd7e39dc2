#pragma once

#include "safelaunch/base/environment.h"
#include "safelaunch/base/time.h"
#include "safelaunch/job/command.h"
#include "safelaunch/settings/run_options.h"

namespace safelaunch::run {

/// The time that ranks have to save when their job is told to end.
struct Grace {
  Duration of_ranks{};  ///< from our signal, or torchrun's, until somebody kills them
  Duration in_all{};  ///< until we kill whatever lives; torchrun tells of what it has killed itself
  bool operator==(const Grace&) const = default;
};

/// What --grace says; else 30 s, or what the user gave torchrun (`--shutdown-timeout`,
/// TORCH_ELASTIC_SHUTDOWN_TIMEOUT) where that is more: who wants five minutes for a checkpoint has
/// said so once.
[[nodiscard]] Grace grace_of(const settings::RunOptions& options, const job::Command& command,
                             const Environment& environment);

/// torchrun kills its workers after 30 s unless it is told another time: it gets ours, where the
/// user has told it none.
void pass_grace_on(const Grace& grace, Environment& environment);

}  // namespace safelaunch::run
