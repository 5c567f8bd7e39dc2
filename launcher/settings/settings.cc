#include "safelaunch/settings/settings.h"

#include <array>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/settings/run_options.h"

// Settings are options that a file or the environment gives. They are checked like those of the
// command line, and a mistake names its place.
namespace safelaunch::settings {
namespace {

constexpr std::string_view kPrefix = "SAFELAUNCH_";
// Variables that are no options: a person sets the first and the last two, safelaunch itself those
// of its workers.
constexpr std::array<std::string_view, 13> kOtherVariables{
    "PROFILE_PATH", "RUN_ID",     "ATTEMPT", "OWNER",        "ENTERED", "HOOK", "HOOK_TOKEN",
    "BACKEND",      "PG_TIMEOUT", "VERIFY",  "FAULTHANDLER", "KEEP",    "TOKEN"};

}  // namespace

std::string environment_name(std::string_view option) {
  std::string result(kPrefix);
  for (const char c : option)
    result += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c == '-' ? '_' : c;
  return result;
}

Result<Settings> settings_from(const Environment& environment) {
  Settings result;
  for (const Option& option : run_options()) {
    const std::string name = environment_name(option.name);
    const std::string_view value = value_or(environment, name);
    if (value.empty()) continue;
    if (option.scope < OptionScope::environment)
      return Error{Errc::usage,
                   fmt::format("{}: not taken from there; give --{} on the command line", name,
                               option.name)};
    if (const auto why = refuse_value(option, value))
      return Error{Errc::usage, fmt::format("{}: {}", name, *why)};
    result[std::string(option.name)] = {std::string(value), name};
  }
  return result;
}

std::vector<std::string> misspelt_settings(const Environment& environment) {
  std::vector<std::string> names;  // without the prefix, which would make all of them near
  for (const Option& option : run_options())
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

bool overrules(const Settings& higher, std::string_view option) {
  if (higher.contains(option)) return true;
  const Option* row = find_run_option(option);
  if (row == nullptr || row->rival.empty()) return false;
  const auto rival = higher.find(row->rival);
  return rival != higher.end() && option_value::flag(rival->second.value);
}

Settings overlay(Settings lower, const Settings& higher) {
  std::erase_if(lower, [&](const auto& setting) { return overrules(higher, setting.first); });
  lower.insert(higher.begin(), higher.end());
  return lower;
}

}  // namespace safelaunch::settings
