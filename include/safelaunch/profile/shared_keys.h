#pragma once

#include <map>

#include "safelaunch/base/result.h"
#include "safelaunch/profile/yaml_file.h"
#include "safelaunch/settings/settings.h"

/// The keys that a profile and safelaunch.yaml have in common: env, unset and options.
namespace safelaunch::profile {

/// A variable's value in a file, and where it stands there.
struct VariableSetting {
  std::string value;
  Place place;
};

/// Variable → setting.
using VariableSettings = std::map<std::string, VariableSetting, std::less<>>;

/// Whether a word can name a variable in every shell: letters, digits and '_', no digit first.
[[nodiscard]] bool is_variable_name(std::string_view word);

/// Says what is wrong with setting or unsetting a variable in a file, or nullopt: no name, or one
/// of those that safelaunch and the launcher give to each rank (RANK, MASTER_PORT, SAFELAUNCH_*,
/// …).
[[nodiscard]] std::optional<std::string> refuse_variable(std::string_view name);

/// Reads an `env:` map into `env` and an `unset:` list into `unset`, over what is there already
/// (what is inherited): the later of the two wins for a variable. Returns the mistakes.
[[nodiscard]] Mistakes read_env(const YamlNode& node, VariableSettings& env,
                                std::vector<std::string>& unset);
[[nodiscard]] Mistakes read_unset(const YamlNode& node, VariableSettings& env,
                                  std::vector<std::string>& unset);

/// Reads an `options:` map of a file that may hold those of `scope` over the settings that are
/// there. Returns the mistakes.
[[nodiscard]] Mistakes read_settings(const YamlNode& node, settings::OptionScope scope,
                                     settings::Settings& settings);

}  // namespace safelaunch::profile
