#pragma once

#include <map>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/settings/option.h"

namespace safelaunch::settings {

/// "SAFELAUNCH_INIT_TIMEOUT" for "init-timeout".
[[nodiscard]] std::string environment_name(std::string_view option);

/// One option's value and who gave it, in words: "--port", "SAFELAUNCH_PORT",
/// "safelaunch.yaml:3:9", "profile debug".
struct Setting {
  std::string value;
  std::string origin;
  bool operator==(const Setting&) const = default;
};

/// Option name → setting.
using Settings = std::map<std::string, Setting, std::less<>>;

/// The settings that SAFELAUNCH_* variables give; an empty variable gives none. Errors: a bad
/// value, an option that the command line alone may give.
[[nodiscard]] Result<Settings> settings_from(const Environment& environment);

/// A warning for each variable that no one reads and that looks like a misspelt setting:
/// "SAFELAUNCH_PROFIL is no setting; did you mean SAFELAUNCH_PROFILE?". SAFELAUNCH_ variables that
/// are near to none are somebody else's.
[[nodiscard]] std::vector<std::string> misspelt_settings(const Environment& environment);

/// Whether a lower place has no say in this option: `higher` gives it, or turns on its rival.
[[nodiscard]] bool overrules(const Settings& higher, std::string_view option);

/// `lower` with what `higher` says in its place. The order is: command line over environment over
/// cluster rule over config file over profile.
[[nodiscard]] Settings overlay(Settings lower, const Settings& higher);

}  // namespace safelaunch::settings
