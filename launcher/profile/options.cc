#include "safelaunch/profile/options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/nearest.h"
#include "safelaunch/base/time.h"

namespace safelaunch::profile {
namespace {

using Kind = OptionKind;
using Scope = OptionScope;

constexpr std::array kOptions{
    RunOption{"profile", Kind::text, Scope::command, {}},
    RunOption{"cluster", Kind::text, Scope::command, {}},
    RunOption{"config", Kind::text, Scope::command, {}},
    RunOption{"forget", Kind::flag, Scope::command, {}},
    RunOption{"max-attempts", Kind::count, Scope::config, {}},
    RunOption{"only", Kind::flag, Scope::config, {}},
    RunOption{"init-timeout", Kind::duration, Scope::config, {}},
    RunOption{"collective-timeout", Kind::duration, Scope::config, {}},
    RunOption{"quiet-timeout", Kind::duration, Scope::config, {}},
    RunOption{"work-timeout", Kind::duration, Scope::config, {}},
    RunOption{"start-timeout", Kind::duration, Scope::config, {}},
    RunOption{"stall-timeout", Kind::duration, Scope::config, {}},
    RunOption{"grace", Kind::duration, Scope::profile, {}},
    RunOption{"clean", Kind::choice, Scope::profile, "off|ours",
              "a run ends only what safelaunch has started; for others: safelaunch clean"},
    RunOption{"port", Kind::port, Scope::profile, {}},
    RunOption{"probe", Kind::choice, Scope::profile, "auto|always|never"},
    RunOption{"nproc-per-node", Kind::text, Scope::config, {}},
    RunOption{"devices", Kind::text, Scope::config, {}},
    RunOption{"nnodes", Kind::count, Scope::config, {}},
    RunOption{"node-rank", Kind::count, Scope::config, {}},
    RunOption{"start-rank", Kind::count, Scope::config, {}},
    RunOption{"world-size", Kind::count, Scope::config, {}},
    RunOption{"master-addr", Kind::text, Scope::config, {}},
    RunOption{"master-port", Kind::count, Scope::config, {}},
    RunOption{"binding", Kind::choice, Scope::config, "none|numa|cores"},
    RunOption{"rendezvous", Kind::text, Scope::config, {}},
    RunOption{"log-dir", Kind::text, Scope::config, {}},
    RunOption{"ranks", Kind::text, Scope::config, {}},
    RunOption{"prefix", Kind::flag, Scope::config, {}},
    RunOption{"run-dir", Kind::text, Scope::config, {}},
    RunOption{"keep-runs", Kind::count, Scope::config, {}},
    RunOption{"keep-days", Kind::count, Scope::config, {}},
    RunOption{"interactive", Kind::flag, Scope::config, {}},
    RunOption{"no-hook", Kind::flag, Scope::profile, {}},
    RunOption{"no-plugin", Kind::flag, Scope::profile, {}},
    RunOption{"no-preflight", Kind::flag, Scope::config, {}},
    RunOption{"fail-on-slow", Kind::flag, Scope::config, {}},
    RunOption{"dry-run", Kind::flag, Scope::config, {}},
    RunOption{"json", Kind::flag, Scope::config, {}},
    RunOption{"verbose", Kind::flag, Scope::config, {}},
    RunOption{"quiet", Kind::flag, Scope::config, {}},
    RunOption{"no-color", Kind::flag, Scope::config, {}},
};

constexpr std::string_view kPrefix = "SAFELAUNCH_";
// Variables that are no options: a person sets the first, safelaunch itself those of its workers.
constexpr std::array<std::string_view, 11> kOtherVariables{
    "PROFILE_PATH", "RUN_ID",     "ATTEMPT", "OWNER",        "HOOK", "HOOK_TOKEN",
    "BACKEND",      "PG_TIMEOUT", "VERIFY",  "FAULTHANDLER", "KEEP"};

constexpr std::string_view kFlagChoices = "true|false|on|off|yes|no|1|0";

bool is_one_of(std::string_view word, std::string_view choices) {
  while (!choices.empty()) {
    const std::size_t bar = std::min(choices.find('|'), choices.size());
    if (choices.substr(0, bar) == word) return true;
    choices.remove_prefix(std::min(bar + 1, choices.size()));
  }
  return false;
}

bool is_number(std::string_view word, int most) {
  int value = 0;
  const auto read = std::from_chars(word.data(), word.data() + word.size(), value);
  return read.ec == std::errc{} && read.ptr == word.data() + word.size() && value >= 0 &&
         value <= most;
}

bool is_port(std::string_view word) {
  constexpr int kHighestPort = 65535;
  if (word == "keep" || word == "auto") return true;
  const std::size_t dash = word.find('-');
  if (dash == std::string_view::npos) return is_number(word, kHighestPort);
  return is_number(word.substr(0, dash), kHighestPort) &&
         is_number(word.substr(dash + 1), kHighestPort);
}

std::optional<std::string> expected(std::string_view value, bool is_right, std::string_view what) {
  if (is_right) return std::nullopt;
  return fmt::format("'{}' is not {}", value, what);
}

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

Error unknown_option(const YamlEntry& entry, OptionScope scope) {
  std::vector<std::string_view> names;
  for (const RunOption& option : kOptions)
    if (option.scope >= scope) names.push_back(option.name);
  return error_at(entry.place, fmt::format("there is no option '{}'{}", entry.key,
                                           did_you_mean(entry.key, names)));
}

Error out_of_place(const YamlEntry& entry, const RunOption& option) {
  const std::string name = environment_name(option.name);
  if (option.scope == OptionScope::command)
    return error_at(entry.place, fmt::format("'{}' is not read from files; give --{} or set {}",
                                             option.name, option.name, name));
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

std::span<const RunOption> run_options() {
  return kOptions;
}

const RunOption* find_option(std::string_view name) {
  const auto* found = std::find_if(kOptions.begin(), kOptions.end(),
                                   [&](const RunOption& option) { return option.name == name; });
  return found == kOptions.end() ? nullptr : found;
}

std::string environment_name(std::string_view option) {
  std::string result(kPrefix);
  for (const char c : option)
    result += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c == '-' ? '_' : c;
  return result;
}

std::optional<std::string> refuse_value(const RunOption& option, std::string_view value) {
  constexpr int kMost = 1'000'000;
  switch (option.kind) {
    case Kind::text: return expected(value, !value.empty(), "a value");
    case Kind::flag: return expected(value, is_one_of(value, kFlagChoices), "true or false");
    case Kind::count: return expected(value, is_number(value, kMost), "a whole number");
    case Kind::port: return expected(value, is_port(value), "keep, auto, a port or A-B");
    case Kind::choice:
      return expected(value, is_one_of(value, option.choices),
                      fmt::format("one of {}{}{}", option.choices,
                                  option.advice.empty() ? "" : "; ", option.advice));
    case Kind::duration: {
      const Result<Duration> duration = parse_duration(value);
      if (duration.has_error()) return duration.error().message;
      return std::nullopt;
    }
  }
  return std::nullopt;
}

Result<Settings> settings_from(const Environment& environment) {
  Settings result;
  for (const RunOption& option : kOptions) {
    const std::string name = environment_name(option.name);
    const std::string_view value = value_or(environment, name);
    if (value.empty()) continue;
    if (const auto why = refuse_value(option, value))
      return Error{Errc::usage, fmt::format("{}: {}", name, *why)};
    result[std::string(option.name)] = {std::string(value), name};
  }
  return result;
}

std::vector<std::string> misspelt_settings(const Environment& environment) {
  std::vector<std::string> names;  // without the prefix, which would make all of them near
  for (const RunOption& option : kOptions)
    names.push_back(environment_name(option.name).substr(kPrefix.size()));
  names.insert(names.end(), kOtherVariables.begin(), kOtherVariables.end());
  const std::vector<std::string_view> known(names.begin(), names.end());
  std::vector<std::string> warnings;
  for (const auto& [variable, value] : environment) {
    if (!variable.starts_with(kPrefix)) continue;
    const std::string_view name = std::string_view(variable).substr(kPrefix.size());
    const std::string_view meant = nearest(name, known);
    if (!meant.empty() && meant != name)
      warnings.push_back(
          fmt::format("{} is no setting; did you mean {}{}?", variable, kPrefix, meant));
  }
  return warnings;
}

Result<Settings> read_settings(const YamlNode& node, OptionScope scope) {
  if (node.kind != YamlNode::Kind::map)
    return error_at(node.place, "options must be a map of option names to values");
  Settings result;
  for (const YamlEntry& entry : node.entries) {
    const RunOption* option = find_option(entry.key);
    if (option == nullptr) return unknown_option(entry, scope);
    if (option->scope < scope) return out_of_place(entry, *option);
    if (entry.value.kind != YamlNode::Kind::scalar)
      return error_at(entry.value.place, fmt::format("{} must be one value", entry.key));
    if (const auto why = refuse_value(*option, entry.value.text))
      return error_at(entry.value.place, fmt::format("{}: {}", entry.key, *why));
    result[entry.key] = {entry.value.text, to_string(entry.value.place)};
  }
  return result;
}

Settings overlay(Settings lower, const Settings& higher) {
  for (const auto& [name, setting] : higher) lower[name] = setting;
  return lower;
}

}  // namespace safelaunch::profile
