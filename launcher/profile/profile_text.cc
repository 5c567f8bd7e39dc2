#include "safelaunch/profile/profile_text.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/language.h"
#include "safelaunch/base/paper.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/profile/library.h"
#include "safelaunch/profile/variables.h"
#include "safelaunch/redact/redactor.h"

// Profiles are shown in four forms: a list, YAML that reads back as the same profile, exports for a
// shell, JSON. Secrets are taken out of all of them except the exports, which a shell is to
// evaluate.
namespace safelaunch::profile {
namespace {

// YAML's double quotes mean what JSON's do, for every text that parse_yaml lets through.
std::string yaml_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    switch (c) {
      case '"': result += "\\\""; break;
      case '\\': result += "\\\\"; break;
      case '\n': result += "\\n"; break;
      case '\r': result += "\\r"; break;
      case '\t': result += "\\t"; break;
      default: result += c;
    }
  }
  return result + '"';
}

std::string yaml_list(const std::vector<std::string>& words) {
  std::vector<std::string> quoted;
  for (const std::string& word : words) quoted.push_back(yaml_quoted(word));
  return "[" + join(quoted, ", ") + "]";
}

std::string show_identity(const Profile& profile) {
  std::string text =
      fmt::format("# {}{}\n", profile.origin,
                  profile.extends.empty() ? "" : ", with what it inherits from " + profile.extends);
  // "null" alone is no word for YAML.
  const bool is_null = lower(profile.name) == "null";
  text += fmt::format("name: {}\n", is_null ? yaml_quoted(profile.name) : profile.name);
  text += fmt::format("description: {}\n", yaml_quoted(profile.description));
  text += fmt::format("heals: {}\n", yaml_list(profile.heals));
  text += fmt::format("worsens: {}\n", yaml_list(profile.worsens));
  text += fmt::format("cost: {}\n", name(profile.cost));
  text += fmt::format("nodes: {}\n", name(profile.nodes));
  return text;
}

std::string show_variables(const Profile& profile) {
  std::string text = profile.env.empty() ? "env: {}\n" : "env:\n";
  for (const auto& [variable, setting] : profile.env)
    text += fmt::format("  {}: {}\n", variable, yaml_quoted(setting.value));
  text += fmt::format("unset: {}\n", yaml_list(profile.unset));
  text += fmt::format("force: {}\n", profile.force_all ? "true" : yaml_list(profile.force));
  return text;
}

std::string show_timeouts(const Profile& profile) {
  const Timeouts& t = profile.timeouts;
  return fmt::format(
      "process_group_timeout: {}\n"
      "timeouts: {{init: {}, collective: {}, quiet: {}, work: {}, start: {}, stall: {}}}\n"
      "on_stall: {}\n",
      profile.process_group_timeout ? format_duration(*profile.process_group_timeout) : "keep",
      format_duration(t.init), format_duration(t.collective), format_duration(t.quiet),
      format_duration(t.work), format_duration(t.start), format_stall_timeout(t.stall),
      name(profile.on_stall));
}

std::string show_resume(const Profile& profile) {
  if (profile.retry)
    return fmt::format("retry: {{times: {}, backoff: {}, factor: {}}}\n", profile.retry->times,
                       format_duration(profile.retry->backoff), profile.retry->factor);
  if (!profile.resume) return {};
  const auto& [newer, marker, append] = *profile.resume;
  return fmt::format(
      "resume: {{{}: {}, append: {}}}\nrestarts: {}\n", marker.empty() ? "newer" : "marker",
      yaml_quoted(marker.empty() ? newer : marker), yaml_list(append), profile.restarts);
}

std::string show_arguments(const ArgumentChanges& args) {
  std::string text = fmt::format("args:\n  append: {}\n", yaml_list(args.append));
  text += args.replace.empty() ? "  replace: {}\n" : "  replace:\n";
  for (const auto& [option, value] : args.replace)
    text += fmt::format("    {}: {}\n", yaml_quoted(option), value ? yaml_quoted(*value) : "~");
  return text;
}

std::string show_options(const settings::Settings& options) {
  std::string text = options.empty() ? "options: {}\n" : "options:\n";
  for (const auto& [option, setting] : options)
    text += fmt::format("  {}: {}\n", option, yaml_quoted(setting.value));
  return text;
}

std::string change(const Difference& difference, const redact::Redactor& redactor) {
  const auto& [name, before, after, winner, why] = difference;
  const auto shown = [&](const std::string& variable, const std::string& value) {
    return redactor.redact(variable, value);
  };
  if (before == after)
    return before ? fmt::format("= {}={}", name, shown(name, *before)) : fmt::format("= {}", name);
  if (!after) return fmt::format("- {}={}", name, shown(name, *before));
  if (!before) return fmt::format("+ {}={}", name, shown(name, *after));
  return fmt::format("~ {}={} (was {})", name, shown(name, *after), shown(name, *before));
}

std::string processes_of(const Profile& profile) {
  std::vector<std::string> ladder;
  for (const int number : profile.ladder) ladder.push_back(std::to_string(number));
  if (!ladder.empty()) return fmt::format("[{}]", join(ladder, ", "));
  return profile.processes ? std::to_string(*profile.processes) : "keep";
}

// These keys cannot be put into a shell by `profiles env`.
std::string only_by_a_run(const Profile& profile) {
  std::vector<std::string> parts;
  if (profile.backend == Backend::gloo) parts.emplace_back("backend: gloo");
  if (profile.processes) parts.push_back("processes: " + processes_of(profile));
  if (profile.process_group_timeout) parts.emplace_back("process_group_timeout");
  if (profile.verify == Verify::inject) parts.emplace_back("verify: inject");
  if (profile.ras == Ras::ask) parts.emplace_back("ras: ask");
  if (profile.args != ArgumentChanges{}) parts.emplace_back("args");
  if (profile.resume) parts.emplace_back("resume");
  if (parts.empty()) return {};
  return fmt::format("# only a run can do this ({}): safelaunch --profile {} COMMAND\n",
                     join(parts, ", "), profile.name);
}

// Keys in the order in which a person would write them.
using Json = nlohmann::ordered_json;

double seconds(Duration duration) {
  return std::chrono::duration<double>(duration).count();
}

Json stall_of(const StallTimeout& timeout) {
  return timeout.after ? Json(seconds(*timeout.after)) : Json(kOwnPace);
}

Json timeouts_of(const Timeouts& timeouts) {
  return {{"init", seconds(timeouts.init)},   {"collective", seconds(timeouts.collective)},
          {"quiet", seconds(timeouts.quiet)}, {"work", seconds(timeouts.work)},
          {"start", seconds(timeouts.start)}, {"stall", stall_of(timeouts.stall)}};
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

Json resume_of(const Resume& resume) {
  const bool by_marker = !resume.marker.empty();
  return {{by_marker ? "marker" : "newer", by_marker ? resume.marker : resume.newer},
          {"append", resume.append}};
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
  if (profile.resume) {
    result["resume"] = resume_of(*profile.resume);
    result["restarts"] = profile.restarts;
  }
  if (profile.retry)
    result["retry"] = {{"times", profile.retry->times},
                       {"backoff", seconds(profile.retry->backoff)},
                       {"factor", profile.retry->factor}};
  result["processes"] = profile.processes ? Json(*profile.processes) : Json();
  if (!profile.ladder.empty()) result["processes"] = profile.ladder;
  result["args"] = arguments_of(profile.args);
  result["python"] = {{"faulthandler", profile.faulthandler}};
  result["options"] = options_of(profile.options);
  return result;
}

std::string json_text(const Json& value) {
  return value.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

Profile without_secrets(Profile profile) {
  const redact::Redactor redactor;
  for (auto& [variable, setting] : profile.env)
    setting.value = redactor.redact(variable, setting.value);
  profile.args.append = redactor.redact(profile.args.append);
  if (profile.resume) profile.resume->append = redactor.redact(profile.resume->append);
  for (auto& [option, value] : profile.args.replace)
    if (value) value = redactor.redact(option, *value);
  for (auto& [option, setting] : profile.options)
    setting.value = redactor.redact(option, setting.value);
  return profile;
}

std::string render_profile_list(std::span<const Profile> profiles) {
  std::size_t width = 0;
  for (const Profile& profile : profiles) width = std::max(width, columns(profile.name));
  std::string text;
  const auto row = [&](std::string_view left, std::string_view cost, const std::string& words) {
    const std::string begin = fmt::format("{:<{}}  {:<13} ", left, width, cost);
    text += begin + wrapped(words, columns(begin)) + "\n";
  };
  for (const Profile& profile : profiles) {
    const bool slow = profile.cost == Cost::large;
    row(profile.name, tr(slow ? "large (slow)" : name(profile.cost)), tr(profile.description));
    if (!profile.heals.empty()) row("", "", tr("heals {}", join(profile.heals, ", ")));
    if (!profile.origin.ends_with(kBuiltInMark)) row("", "", tr("from {}", profile.origin));
  }
  return text;
}

std::string render_profile(const Profile& with_secrets) {
  const Profile profile = without_secrets(with_secrets);
  std::string text = show_identity(profile) + show_variables(profile);
  text += fmt::format("backend: {}\nverify: {}\nras: {}\n", name(profile.backend),
                      name(profile.verify), name(profile.ras));
  text += show_timeouts(profile) + show_resume(profile);
  text += fmt::format("processes: {}\n", processes_of(profile));
  text += show_arguments(profile.args);
  text += fmt::format("python: {{faulthandler: {}}}\n", profile.faulthandler);
  return text + show_options(profile.options);
}

std::string render_check(const Profile& profile) {
  std::string text = tr("{}: the profile '{}' is good", profile.origin, profile.name) + "\n";
  for (const std::string& warning : warnings_for(profile.env))
    text += tr("warning: {}", tr(warning)) + "\n";
  return text;
}

std::string render_exports(const Profile& profile) {
  std::string text = only_by_a_run(profile);
  for (const auto& [name, setting] : profile.env)
    text += fmt::format("export {}={}\n", name, shell_quoted(setting.value));
  for (const std::string& name : profile.unset) text += fmt::format("unset {}\n", name);
  return text;
}

std::string render_differences(std::span<const Difference> differences,
                               const redact::Redactor& redactor) {
  std::string text;
  for (const Difference& difference : differences)
    text += fmt::format("{}  # {}\n", change(difference, redactor),
                        redactor.redact(std::string_view(difference.why)));
  return text;
}

std::string profile_json(const Profile& profile) {
  return json_text(to_json(without_secrets(profile)));
}

std::string profile_list_json(std::span<const Profile> profiles) {
  Json result = Json::array();
  for (const Profile& profile : profiles) result.push_back(to_json(without_secrets(profile)));
  return json_text(result);
}

}  // namespace safelaunch::profile
