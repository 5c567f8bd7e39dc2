#include <nlohmann/json.hpp>

#include "safelaunch/profile/render.h"

namespace safelaunch {
namespace {

// Keys in the order in which a person would write them.
using json = nlohmann::ordered_json;

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

json timeouts_of(const Timeouts& timeouts) {
  return {{"init", seconds(timeouts.init)},
          {"collective", seconds(timeouts.collective)},
          {"quiet", seconds(timeouts.quiet)},
          {"work", seconds(timeouts.work)},
          {"stall", seconds(timeouts.stall)}};
}

json variables_of(const VariableSettings& env) {
  json result = json::object();
  for (const auto& [name, setting] : env) result[name] = setting.value;
  return result;
}

json options_of(const Settings& options) {
  json result = json::object();
  for (const auto& [name, setting] : options) result[name] = setting.value;
  return result;
}

json arguments_of(const ArgumentChanges& args) {
  json replace = json::object();
  for (const auto& [option, value] : args.replace) replace[option] = value ? json(*value) : json();
  return {{"append", args.append}, {"replace", std::move(replace)}};
}

json force_of(const Profile& profile) {
  return profile.force_all ? json(true) : json(profile.force);
}

json to_json(const Profile& profile) {
  json result;
  result["name"] = profile.name;
  result["description"] = profile.description;
  result["origin"] = profile.origin;
  result["extends"] = profile.extends.empty() ? json() : json(profile.extends);
  result["heals"] = profile.heals;
  result["worsens"] = profile.worsens;
  result["cost"] = name(profile.cost);
  result["nodes"] = name(profile.nodes);
  result["env"] = variables_of(profile.env);
  result["unset"] = profile.unset;
  result["force"] = force_of(profile);
  result["backend"] = name(profile.backend);
  result["verify"] = name(profile.verify);
  result["ras"] = name(profile.ras);
  result["process_group_timeout"] =
      profile.process_group_timeout ? json(seconds(*profile.process_group_timeout)) : json();
  result["timeouts"] = timeouts_of(profile.timeouts);
  result["on_stall"] = name(profile.on_stall);
  result["processes"] = profile.processes ? json(*profile.processes) : json();
  result["args"] = arguments_of(profile.args);
  result["python"] = {{"faulthandler", profile.faulthandler}};
  result["options"] = options_of(profile.options);
  return result;
}

std::string text_of(const json& value) {
  return value.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string profile_json(const Profile& profile) {
  return text_of(to_json(profile));
}

std::string profile_list_json(std::span<const Profile> profiles) {
  json result = json::array();
  for (const Profile& profile : profiles) result.push_back(to_json(profile));
  return text_of(result);
}

}  // namespace safelaunch
