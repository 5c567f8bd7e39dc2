#include "safelaunch/profile/apply.h"

#include <algorithm>
#include <set>

#include "safelaunch/base/format.h"
#include "safelaunch/base/variable_names.h"
#include "safelaunch/redact/redactor.h"

// Each variable is decided by the first layer that has a word for it: --set and --unset, what the
// profile forces, the user's environment, safelaunch.yaml, the profile. A layer that loses is told,
// because a value that silently stays is what people search for.
namespace safelaunch::profile {
namespace {

using Value = std::optional<std::string>;  // none: not set

// One layer's wish for a variable. To wish nothing is not the same as to wish it unset.
struct Wish {
  Value value;
  std::string origin;
};

constexpr const char* kConfigLayer = "safelaunch.yaml";

// The layer below the user's environment has its variables from more than one file.
std::string origin_of(const Place& place, const std::string& layer) {
  if (place.line == 0) return layer;
  return layer == kConfigLayer ? to_string(place) : fmt::format("{} ({})", layer, to_string(place));
}

std::optional<Wish> wish_of(const VariableSettings& env, const std::vector<std::string>& unset,
                            const std::string& name, const std::string& layer) {
  if (const auto found = env.find(name); found != env.end())
    return Wish{found->second.value, origin_of(found->second.place, layer)};
  if (std::find(unset.begin(), unset.end(), name) != unset.end()) return Wish{{}, layer};
  return std::nullopt;
}

std::string shown(const std::string& name, const Value& value) {
  if (!value) return "would take it away";
  return fmt::format("would set {}", redact::Redactor().redact(name, *value));
}

// The user's value stays; tells whom it beats, if there is anybody who wants another.
std::string what_user_beats(const std::string& name, const Value& mine,
                            const std::optional<Wish>& config, const std::optional<Wish>& profile) {
  for (const std::optional<Wish>& wish : {config, profile})
    if (wish && wish->value != mine)
      return fmt::format("your value stays; {} {}", wish->origin, shown(name, wish->value));
  return {};
}

struct Layers {
  const Profile& profile;
  const Environment& user;
  const Overrides& config;
  const Overrides& options;
};

Difference decide(const Layers& layers, const std::string& name) {
  const auto mine = layers.user.find(name);
  const Value before = mine == layers.user.end() ? Value() : Value(mine->second);
  const auto option = wish_of(layers.options.env, layers.options.unset, name, "--set");
  const auto config = wish_of(layers.config.env, layers.config.unset, name, kConfigLayer);
  const auto profile = wish_of(layers.profile.env, layers.profile.unset, name,
                               fmt::format("profile {}", layers.profile.name));
  if (option)
    return {name, before, option->value, Winner::option, option->value ? "--set" : "--unset"};
  if (profile && layers.profile.forces(name))
    return {name, before, profile->value, Winner::profile, profile->origin + " forces it"};
  if (before)
    return {name, before, before, Winner::user, what_user_beats(name, before, config, profile)};
  if (config) return {name, before, config->value, Winner::config, config->origin};
  return {name, before, profile->value, Winner::profile, profile->origin};
}

void add_names(const VariableSettings& env, const std::vector<std::string>& unset,
               std::set<std::string>& names) {
  for (const auto& [name, setting] : env) names.insert(name);
  names.insert(unset.begin(), unset.end());
}

std::set<std::string> names_in_question(const Layers& layers) {
  std::set<std::string> names;
  add_names(layers.profile.env, layers.profile.unset, names);
  add_names(layers.config.env, layers.config.unset, names);
  add_names(layers.options.env, layers.options.unset, names);
  return names;
}

using Replacement = std::optional<std::string>;  // none takes the option away

// A negative number begins with '-' too, and is a value.
bool is_value(std::string_view word) {
  if (!word.starts_with("-")) return true;
  word.remove_prefix(word.starts_with("-.") ? 2 : 1);
  return !word.empty() && word[0] >= '0' && word[0] <= '9';
}

// One option at `at`; returns how many words of the original it took.
std::size_t replace_one(std::span<const std::string> arguments, std::size_t at,
                        const std::string& option, const Replacement& value,
                        std::vector<std::string>& result) {
  const bool joined = arguments[at].size() > option.size();  // --name=VALUE
  if (value && joined) {
    result.push_back(option + "=" + *value);
  } else if (value) {
    result.push_back(option);
    result.push_back(*value);
  }
  const bool value_follows = !joined && at + 1 < arguments.size() && is_value(arguments[at + 1]);
  return value_follows ? 2 : 1;
}

}  // namespace

Result<Overrides> parse_overrides(std::span<const std::string> set,
                                  std::span<const std::string> unset) {
  Overrides result;
  for (const std::string& word : set) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos)
      return Error{Errc::usage, fmt::format("--set {}: write NAME=VALUE", word)};
    const std::string name = word.substr(0, equals);
    if (const auto why = refuse_variable(name))
      return Error{Errc::usage, fmt::format("--set: {}", *why)};
    result.env[name] = {word.substr(equals + 1), {}};
  }
  for (const std::string& name : unset) {
    if (const auto why = refuse_variable(name))
      return Error{Errc::usage, fmt::format("--unset: {}", *why)};
    if (result.env.contains(name))
      return Error{Errc::usage, fmt::format("{} is given to --set and to --unset", name)};
    result.unset.push_back(name);
  }
  return result;
}

AppliedEnvironment apply_profile(const Profile& profile, const Environment& user,
                                 const Overrides& config, const Overrides& options) {
  AppliedEnvironment result{user, {}};
  const Layers layers{profile, user, config, options};
  for (const std::string& name : names_in_question(layers)) {
    Difference difference = decide(layers, name);
    if (difference.after)
      result.environment[name] = *difference.after;
    else
      result.environment.erase(name);
    const bool beaten = difference.winner == Winner::user && !difference.why.empty();
    if (difference.before != difference.after || beaten)
      result.differences.push_back(std::move(difference));
  }
  return result;
}

Environment hook_variables(const Profile& profile) {
  Environment result;
  if (profile.backend == Backend::gloo) result[std::string(kBackendVariable)] = "gloo";
  if (profile.process_group_timeout)
    result[std::string(kGroupTimeoutVariable)] =
        fmt::format("{}", std::chrono::duration<double>(*profile.process_group_timeout).count());
  if (profile.verify == Verify::inject) result[std::string(kVerifyVariable)] = "inject";
  if (profile.faulthandler) result[std::string(kFaulthandlerVariable)] = "1";
  return result;
}

std::vector<std::string> changed_arguments(const ArgumentChanges& changes,
                                           std::span<const std::string> arguments) {
  std::vector<std::string> result;
  std::size_t at = 0;
  while (at < arguments.size() && arguments[at] != "--") {
    const std::string option = arguments[at].substr(0, arguments[at].find('='));
    const auto found = changes.replace.find(option);
    if (found == changes.replace.end())
      result.push_back(arguments[at++]);
    else
      at += replace_one(arguments, at, option, found->second, result);
  }
  result.insert(result.end(), changes.append.begin(), changes.append.end());
  result.insert(result.end(), arguments.begin() + static_cast<std::ptrdiff_t>(at), arguments.end());
  return result;
}

}  // namespace safelaunch::profile
