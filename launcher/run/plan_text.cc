#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/join.h"
#include "safelaunch/base/redact.h"
#include "safelaunch/run/plan.h"

namespace safelaunch::run {
namespace {

using Json = nlohmann::ordered_json;

const char* in_words(job::PortPolicy policy) {
  switch (policy) {
    case job::PortPolicy::nothing: return "the launcher's own business";
    case job::PortPolicy::choose: return "a free one is chosen and held";
    case job::PortPolicy::user: return "yours if it is free";
    case job::PortPolicy::multi_node: return "never changed: other nodes must know it";
  }
  return "";
}

std::string value_of(const profile::Difference& difference, const std::optional<std::string>& value,
                     const Redactor& redactor) {
  return value ? redactor.redact(difference.name, *value) : "(not set)";
}

std::string ranks_in_words(const RunPlan& plan) {
  if (plan.spawn)
    return fmt::format("{} of {}, spawned by safelaunch", plan.spawn->workers,
                       plan.spawn->world_size);
  if (plan.command.processes_per_node)
    return fmt::format("{} on each node, by {}", to_string(*plan.command.processes_per_node),
                       name(plan.command.launcher));
  return "not known before they start";
}

}  // namespace

Redactor redactor_for(const RunPlan& plan) {
  Redactor redactor;
  redactor.learn(plan.environment);
  const auto learn = [&](const profile::VariableSettings& variables) {
    for (const auto& [variable, setting] : variables) redactor.learn(variable, setting.value);
  };
  learn(plan.overrides.env);
  learn(plan.configuration.rules.variables.env);
  for (const profile::Profile& profile : plan.chain) learn(profile.env);
  redactor.learn(plan.options.command);
  return redactor;
}

std::string render_plan(const RunPlan& plan) {
  const Redactor redactor = redactor_for(plan);
  std::string text =
      fmt::format("command   {}\nlauncher  {}\nranks     {}\nport      {}\n",
                  join(redactor.redact(plan.options.command), " "), name(plan.command.launcher),
                  ranks_in_words(plan), in_words(plan.port_policy()));
  text +=
      fmt::format("chain     from {}, at most {} attempts\n", plan.chain_origin, plan.max_attempts);
  for (const profile::Profile& profile : plan.chain) {
    text += fmt::format("  {:<16} cost {}: {}\n", profile.name, name(profile.cost),
                        profile.description);
    for (const profile::Difference& difference : plan.environment_under(profile).differences)
      text += fmt::format("    {}: {} → {}  ({})\n", difference.name,
                          value_of(difference, difference.before, redactor),
                          value_of(difference, difference.after, redactor), difference.why);
    for (const auto& [name, setting] : profile.options)
      if (!plan.options.given.contains(name))
        text += fmt::format("    --{} {}  ({})\n", name, setting.value, setting.origin);
  }
  for (const std::string& warning : plan.warnings) text += "warning   " + warning + "\n";
  return text;
}

std::string plan_json(const RunPlan& plan) {
  const Redactor redactor = redactor_for(plan);
  Json json;
  json["command"] = redactor.redact(plan.options.command);
  json["launcher"] = name(plan.command.launcher);
  if (plan.command.script) json["script_word"] = plan.command.script->word;
  json["nodes"] = plan.nodes();
  if (plan.spawn) json["workers"] = plan.spawn->workers;
  if (!plan.spawn && plan.command.processes_per_node)
    json["processes_per_node"] = to_string(*plan.command.processes_per_node);
  if (plan.command.port.value) json["port"] = *plan.command.port.value;
  json["port_policy"] = in_words(plan.port_policy());
  json["chain_from"] = plan.chain_origin;
  json["max_attempts"] = plan.max_attempts;
  json["chain"] = Json::array();
  for (const profile::Profile& profile : plan.chain) {
    Json entry{{"profile", profile.name},
               {"cost", name(profile.cost)},
               {"backend", name(profile.backend)}};
    entry["environment"] = Json::object();
    for (const profile::Difference& difference : plan.environment_under(profile).differences)
      entry["environment"][difference.name] = value_of(difference, difference.after, redactor);
    json["chain"].push_back(std::move(entry));
  }
  json["warnings"] = plan.warnings;
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace safelaunch::run
