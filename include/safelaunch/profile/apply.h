#pragma once

#include <span>

#include "safelaunch/base/environment.h"
#include "safelaunch/profile/profile.h"

namespace safelaunch::profile {

/// Variables to set and to take away: of safelaunch.yaml, or of --set and --unset.
struct Overrides {
  VariableSettings env;
  std::vector<std::string> unset;
};

/// Reads the values of --set (NAME=VALUE) and --unset (NAME). Error: no '=', no variable's name, a
/// variable that each rank is given.
[[nodiscard]] Result<Overrides> parse_overrides(std::span<const std::string> set,
                                                std::span<const std::string> unset);

/// The layer that decided a variable's value.
enum class Winner { option, user, config, profile };

/// A variable that differs from the user's environment, or that somebody wanted to differ.
struct Difference {
  std::string name;
  std::optional<std::string> before;  ///< the user's value; none: not set
  std::optional<std::string> after;
  Winner winner = Winner::user;
  std::string why;  ///< "profile no-shm", "your value stays; profile no-shm sets 1"
  bool operator==(const Difference&) const = default;
};

/// The environment for an attempt. `environment` holds everything, secrets too; print differences
/// only through render_differences().
struct AppliedEnvironment {
  Environment environment;
  std::vector<Difference> differences;  ///< sorted by name
};

/// Puts the layers together. Order: --set and --unset, what the profile forces, the user's
/// environment, safelaunch.yaml, the profile.
[[nodiscard]] AppliedEnvironment apply_profile(const Profile& profile, const Environment& user,
                                               const Overrides& config, const Overrides& options);

/// The variables that tell the Python hook of a profile (docs/hook-protocol.md).
[[nodiscard]] Environment hook_variables(const Profile& profile);

/// The training script's arguments under a profile: replacements where an option is there (as
/// `--name VALUE` or `--name=VALUE`), then what is appended. A word after an option that begins
/// with no '-' is taken for its value. Words behind `--` stay as they are.
[[nodiscard]] std::vector<std::string> changed_arguments(const ArgumentChanges& changes,
                                                         std::span<const std::string> arguments);

}  // namespace safelaunch::profile
