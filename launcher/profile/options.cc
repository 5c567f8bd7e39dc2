#include "safelaunch/profile/options.h"

#include <algorithm>
#include <array>
#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/nearest.h"
#include "safelaunch/settings/run_options.h"

namespace safelaunch::profile {
namespace {

// Options that a profile knows under a key of its own, since they are what profiles are about.
struct ProfileKey {
  std::string_view option;
  std::string_view key;
};
constexpr std::array kProfileKeys{ProfileKey{"init-timeout", "timeouts: {init: …}"},
                                  ProfileKey{"collective-timeout", "timeouts: {collective: …}"},
                                  ProfileKey{"quiet-timeout", "timeouts: {quiet: …}"},
                                  ProfileKey{"work-timeout", "timeouts: {work: …}"},
                                  ProfileKey{"start-timeout", "timeouts: {start: …}"},
                                  ProfileKey{"stall-timeout", "timeouts: {stall: …}"},
                                  ProfileKey{"nproc-per-node", "processes: …"}};

std::string_view profile_key(std::string_view option) {
  for (const ProfileKey& row : kProfileKeys)
    if (row.option == option) return row.key;
  return {};
}

Error unknown_option(const YamlEntry& entry, settings::OptionScope scope) {
  std::vector<std::string_view> names;
  for (const settings::Option& option : settings::run_options())
    if (option.scope >= scope) names.push_back(option.name);
  return error_at(entry.place, fmt::format("there is no option '{}'{}", entry.key,
                                           did_you_mean(entry.key, names)));
}

Error out_of_place(const YamlEntry& entry, const settings::Option& option) {
  const std::string name = settings::environment_name(option.name);
  const std::string variable =
      option.scope == settings::OptionScope::line ? "" : fmt::format(" or set {}", name);
  if (option.scope < settings::OptionScope::config)
    return error_at(entry.place, fmt::format("'{}' is not read from files; give --{}{}",
                                             option.name, option.name, variable));
  const std::string_view own_key = profile_key(option.name);
  if (!own_key.empty())
    return error_at(entry.place,
                    fmt::format("a profile gives '{}' by its own key: {}", option.name, own_key));
  return error_at(
      entry.place,
      fmt::format(
          "'{}' cannot differ between profiles; put it into safelaunch.yaml, give --{} or set {}",
          option.name, option.name, name));
}

}  // namespace

Result<settings::Settings> read_settings(const YamlNode& node, settings::OptionScope scope) {
  if (node.kind != YamlNode::Kind::map)
    return error_at(node.place, "options must be a map of option names to values");
  settings::Settings result;
  for (const YamlEntry& entry : node.entries) {
    const settings::Option* option = settings::find_run_option(entry.key);
    if (option == nullptr) return unknown_option(entry, scope);
    if (option->scope < scope) return out_of_place(entry, *option);
    if (entry.value.kind != YamlNode::Kind::scalar)
      return error_at(entry.value.place, fmt::format("{} must be one value", entry.key));
    if (const auto why = settings::refuse_value(*option, entry.value.text))
      return error_at(entry.value.place, fmt::format("{}: {}", entry.key, *why));
    result[entry.key] = {entry.value.text, to_string(entry.value.place)};
  }
  return result;
}

}  // namespace safelaunch::profile
