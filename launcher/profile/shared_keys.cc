#include "safelaunch/profile/shared_keys.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/settings/receiver.h"
#include "safelaunch/settings/run_options.h"

// The keys that a profile and safelaunch.yaml share are read in one way. Variables that safelaunch
// or the launcher gives to each rank are refused, because a value for all ranks would break the
// job.
namespace safelaunch::profile {
namespace {

// Each rank has its own values of these, or all must agree on them: a profile that set one would
// break the job that it is to heal.
constexpr std::array<std::string_view, 11> kGivenToRanks{
    "RANK",      "LOCAL_RANK",  "WORLD_SIZE",  "LOCAL_WORLD_SIZE", "NODE_RANK",      "GROUP_RANK",
    "ROLE_RANK", "MASTER_ADDR", "MASTER_PORT", "GROUP_WORLD_SIZE", "ROLE_WORLD_SIZE"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
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

Mistake unknown_option(const YamlEntry& entry, settings::OptionScope scope) {
  std::vector<std::string_view> names;
  for (const settings::Option& option : settings::run_options())
    if (option.scope >= scope) names.push_back(option.name);
  return {entry.place,
          fmt::format("there is no option '{}'{}", entry.key, did_you_mean(entry.key, names))};
}

Mistake out_of_place(const YamlEntry& entry, const settings::Option& option) {
  const std::string name = settings::environment_name(option.name);
  const std::string variable =
      option.scope == settings::OptionScope::line ? "" : fmt::format(" or set {}", name);
  if (option.scope < settings::OptionScope::config)
    return {entry.place, fmt::format("'{}' is not read from files; give --{}{}", option.name,
                                     option.name, variable)};
  const std::string_view own_key = profile_key(option.name);
  if (!own_key.empty())
    return {entry.place,
            fmt::format("a profile gives '{}' by its own key: {}", option.name, own_key)};
  return {entry.place,
          fmt::format("'{}' cannot differ between profiles; put it into safelaunch.yaml, give --{} "
                      "or set {}",
                      option.name, option.name, name)};
}

// Each receiver is a process at each event.
constexpr std::size_t kMostReceivers = 16;

/// The words of a program as a shell takes them.
Mistakes read_program(const YamlNode& node, std::string& command) {
  command = "exec";
  const auto is_word = [](const YamlNode& item) { return item.kind == YamlNode::Kind::scalar; };
  if (node.items.empty() || !std::ranges::all_of(node.items, is_word) || node.items[0].text.empty())
    return Mistake{node.place, "command must be a list of words: [PROGRAM, ARGUMENT, …]"};
  for (const YamlNode& item : node.items) command += " " + shell_quoted(item.text);
  return {};
}

Mistakes read_receiver(const YamlNode& node, nlohmann::json& receivers) {
  static constexpr std::array<std::string_view, 3> kReceiverKeys{"command", "url", "form"};
  std::string command;
  std::string url;
  std::string form;
  YamlReader reader(node, "a receiver", kReceiverKeys);
  reader.read_with("command", [&](const YamlNode& one) { return read_program(one, command); });
  reader.read("url", url);
  reader.read("form", form);
  if (!reader.well_so_far()) return reader.mistakes();
  const bool is_chat = !form.empty();
  if (is_chat != command.empty() || is_chat == url.empty())
    return Mistake{node.place,
                   "a receiver is {command: [PROGRAM, ARGUMENT, …]} or {url: https://…, form: "
                   "slack|feishu|dingtalk|wecom|json}"};
  if (!is_chat) {
    receivers.push_back(command);
    return {};
  }
  const std::string chat = form + ":" + url;
  if (const auto read = settings::parse_receivers(chat); !read)
    return Mistake{node.find("form")->place, read.error().message};
  receivers.push_back(chat);
  return {};
}

/// As the option's one value.
Mistakes read_receivers(const YamlNode& node, std::string& value) {
  if (node.items.empty() || node.items.size() > kMostReceivers)
    return Mistake{node.place, fmt::format("notify must hold 1 to {} receivers", kMostReceivers)};
  Mistakes mistakes;
  nlohmann::json receivers = nlohmann::json::array();
  for (const YamlNode& item : node.items) mistakes.add(read_receiver(item, receivers));
  value = receivers.dump();
  return mistakes;
}

}  // namespace

bool is_variable_name(std::string_view word) {
  return !word.empty() && is_letter(word.front()) &&
         std::all_of(word.begin(), word.end(), [](char c) { return is_letter(c) || is_digit(c); });
}

std::optional<std::string> refuse_variable(std::string_view name) {
  if (!is_variable_name(name))
    return fmt::format("'{}' is not a variable name (letters, digits and _, no digit first)", name);
  const bool given =
      std::find(kGivenToRanks.begin(), kGivenToRanks.end(), name) != kGivenToRanks.end();
  if (given || name.starts_with("SAFELAUNCH_") || name.starts_with("TORCHELASTIC_"))
    return fmt::format(
        "{} is given to each rank by safelaunch or the launcher; it cannot be set here", name);
  return std::nullopt;
}

Mistakes read_env(const YamlNode& node, VariableSettings& env, std::vector<std::string>& unset) {
  if (node.kind != YamlNode::Kind::map)
    return Mistake{node.place, "env must be a map of variables to values"};
  Mistakes mistakes;
  for (const YamlEntry& entry : node.entries) {
    if (const auto why = refuse_variable(entry.key))
      mistakes.add({entry.place, *why});
    else if (entry.value.kind == YamlNode::Kind::null)
      mistakes.add(
          {entry.place, fmt::format("{} has no value; write \"\" for an empty one, or list "
                                    "it under unset",
                                    entry.key)});
    else if (entry.value.kind != YamlNode::Kind::scalar)
      mistakes.add({entry.value.place, fmt::format("{} must be one value", entry.key)});
    env[entry.key] = {entry.value.text, entry.value.place};
    std::erase(unset, entry.key);
  }
  return mistakes;
}

Mistakes read_unset(const YamlNode& node, VariableSettings& env, std::vector<std::string>& unset) {
  if (node.kind != YamlNode::Kind::list)
    return Mistake{node.place, "unset must be a list of variables"};
  Mistakes mistakes;
  for (const YamlNode& item : node.items) {
    const auto set = env.find(item.text);
    if (item.kind != YamlNode::Kind::scalar)
      mistakes.add({item.place, "unset must hold names of variables only"});
    else if (const auto why = refuse_variable(item.text))
      mistakes.add({item.place, *why});
    else if (set != env.end() && set->second.place.file == item.place.file)
      mistakes.add({item.place, fmt::format("{} is set in line {} and unset here", item.text,
                                            set->second.place.line)});
    env.erase(item.text);
    std::erase(unset, item.text);
    unset.push_back(item.text);
  }
  return mistakes;
}

Mistakes read_settings(const YamlNode& node, settings::OptionScope scope,
                       settings::Settings& settings) {
  if (node.kind != YamlNode::Kind::map)
    return Mistake{node.place, "options must be a map of option names to values"};
  settings::Settings read;
  Mistakes mistakes;
  for (const YamlEntry& entry : node.entries) {
    const settings::Option* option = settings::find_run_option(entry.key);
    std::string value = entry.value.text;
    if (option == nullptr)
      mistakes.add(unknown_option(entry, scope));
    else if (option->scope < scope)
      mistakes.add(out_of_place(entry, *option));
    else if (option->kind == settings::OptionKind::receiver &&
             entry.value.kind == YamlNode::Kind::list)
      mistakes.add(read_receivers(entry.value, value));
    else if (entry.value.kind != YamlNode::Kind::scalar)
      mistakes.add({entry.value.place, fmt::format("{} must be one value", entry.key)});
    else if (const auto why = settings::refuse_value(*option, value))
      mistakes.add({entry.value.place, fmt::format("{}: {}", entry.key, *why)});
    read[entry.key] = {std::move(value), to_string(entry.value.place)};
  }
  settings = settings::overlay(std::move(settings), read);
  return mistakes;
}

}  // namespace safelaunch::profile
