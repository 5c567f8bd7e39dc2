#include "profile_options.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/time.h"

namespace safelaunch::run {
namespace {

bool is_yes(std::string_view value) {
  return value == "true" || value == "on" || value == "yes" || value == "1";
}

clean::CleanPolicy clean_policy(std::string_view value) {
  return value == "off" ? clean::CleanPolicy::off : clean::CleanPolicy::ours;
}

probe::WhenToProbe when_to_probe(std::string_view value) {
  if (value == "always") return probe::WhenToProbe::always;
  return value == "never" ? probe::WhenToProbe::never : probe::WhenToProbe::automatic;
}

// The options of a profile's scope. The values were accepted when the profile was read.
struct Row {
  std::string_view name;
  void (*put)(RunOptions& options, const std::string& value);
};
constexpr std::array kRows{
    Row{"grace",
        [](RunOptions& to, const std::string& value) { to.grace = *parse_duration(value); }},
    Row{"clean", [](RunOptions& to, const std::string& value) { to.clean = clean_policy(value); }},
    Row{"port", [](RunOptions& to, const std::string& value) { to.port = value; }},
    Row{"probe", [](RunOptions& to, const std::string& value) { to.probe = when_to_probe(value); }},
    Row{"no-hook", [](RunOptions& to, const std::string& value) { to.hook = !is_yes(value); }},
    Row{"no-plugin", [](RunOptions& to, const std::string& value) { to.plugin = !is_yes(value); }},
};

}  // namespace

RunOptions options_under(RunOptions options, const profile::Profile& profile) {
  for (const auto& [name, setting] : profile.options) {
    if (options.given.contains(name)) continue;
    const auto row = std::ranges::find(kRows, name, &Row::name);
    if (row != kRows.end()) row->put(options, setting.value);
  }
  return options;
}

}  // namespace safelaunch::run
