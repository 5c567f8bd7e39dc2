#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/profile/yaml_file.h"

namespace safelaunch::profile {

/// What the value of a run option must look like.
enum class OptionKind { text, flag, count, duration, port, choice };

/// The narrowest file in which an option may stand; each includes those before it.
enum class OptionScope {
  command,  ///< command line and environment only: it says where the rest is found
  config,   ///< also safelaunch.yaml, for all runs or for a cluster
  profile,  ///< also a profile, for its attempts
};

/// One option of `safelaunch run`. Its key in files is its name; its environment variable is
/// SAFELAUNCH_ and the name in capitals.
struct RunOption {
  std::string_view name;  ///< without dashes: "init-timeout"
  OptionKind kind = OptionKind::text;
  OptionScope scope = OptionScope::config;
  std::string_view choices;      ///< of a choice: "off|ours"
  std::string_view advice = {};  ///< ends the message that refuses a value
};

/// All options of `safelaunch run`: the one list that files, environment and help agree on.
[[nodiscard]] std::span<const RunOption> run_options();

/// The option of that name, or nullptr.
[[nodiscard]] const RunOption* find_option(std::string_view name);

/// "SAFELAUNCH_INIT_TIMEOUT" for "init-timeout".
[[nodiscard]] std::string environment_name(std::string_view option);

/// What is wrong with a value of an option, or nullopt: "'5x' is not a duration: …".
[[nodiscard]] std::optional<std::string> refuse_value(const RunOption& option,
                                                      std::string_view value);

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
/// value.
[[nodiscard]] Result<Settings> settings_from(const Environment& environment);

/// A warning for each variable that no one reads and that looks like a misspelt setting:
/// "SAFELAUNCH_PROFIL is no setting; did you mean SAFELAUNCH_PROFILE?". SAFELAUNCH_ variables that
/// are near to none are somebody else's.
[[nodiscard]] std::vector<std::string> misspelt_settings(const Environment& environment);

/// The settings of an `options:` map of a file that may hold those of `scope`.
[[nodiscard]] Result<Settings> read_settings(const YamlNode& node, OptionScope scope);

/// `lower` with what `higher` says in its place. The order is: command line over environment over
/// cluster rule over config file over profile.
[[nodiscard]] Settings overlay(Settings lower, const Settings& higher);

}  // namespace safelaunch::profile
