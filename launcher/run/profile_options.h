#pragma once

#include "safelaunch/profile/profile.h"
#include "safelaunch/settings/run_options.h"

namespace safelaunch::run {

/// The options of a run during its attempts under a profile: where the user has left one open, in
/// the command line, the environment and safelaunch.yaml, the profile's `options:` say it.
[[nodiscard]] settings::RunOptions options_under(settings::RunOptions options,
                                                 const profile::Profile& profile);

}  // namespace safelaunch::run
