#include <nlohmann/json.hpp>

#include "safelaunch/profile/render.h"

namespace safelaunch::profile {
namespace {

// Keys in the order in which a person would write them.
using Json = nlohmann::ordered_json;

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

Json timeouts_of(const Timeouts& timeouts) {
  return {{"init", seconds(timeouts.init)},   {"collective", seconds(timeouts.collective)},
          {"quiet", seconds(timeouts.quiet)}, {"work", seconds(timeouts.work)},
          {"start", seconds(timeouts.start)}, {"stall", seconds(timeouts.stall)}};
}

Json variables_of(const VariableSettings& env) {
  Json result = Json::object();
  for (const auto& [name, setting] : env) result[name] = setting.value;
  return result;
}

Json options_of(const settings::Settings& options) {
  Json result = Json::object();
  for (const auto& [name, setting] : options) result[name] = setting.value;
  return result;
}

Json arguments_of(const ArgumentChanges& args) {
  Json replace = Json::object();
  for (const auto& [option, value] : args.replace) replace[option] = value ? Json(*value) : Json();
  return {{"append", args.append}, {"replace", std::move(replace)}};
}

Json force_of(const Profile& profile) {
  return profile.force_all ? Json(true) : Json(profile.force);
}

Json to_json(const Profile& profile) {
  Json result;
  result["name"] = profile.name;
  result["description"] = profile.description;
  result["origin"] = profile.origin;
  result["extends"] = profile.extends.empty() ? Json() : Json(profile.extends);
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
      profile.process_group_timeout ? Json(seconds(*profile.process_group_timeout)) : Json();
  result["timeouts"] = timeouts_of(profile.timeouts);
  result["on_stall"] = name(profile.on_stall);
  result["processes"] = profile.processes ? Json(*profile.processes) : Json();
  result["args"] = arguments_of(profile.args);
  result["python"] = {{"faulthandler", profile.faulthandler}};
  result["options"] = options_of(profile.options);
  return result;
}

std::string text_of(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string profile_json(const Profile& profile) {
  return text_of(to_json(without_secrets(profile)));
}

std::string profile_list_json(std::span<const Profile> profiles) {
  Json result = Json::array();
  for (const Profile& profile : profiles) result.push_back(to_json(without_secrets(profile)));
  return text_of(result);
}

}  // namespace safelaunch::profile
