#include "safelaunch/profile/environment_keys.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"

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

bool is_digit(char c) {
  return c >= '0' && c <= '9';
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

std::optional<Error> read_env(const YamlNode& node, VariableSettings& env,
                              std::vector<std::string>& unset) {
  if (node.kind != YamlNode::Kind::map)
    return error_at(node.place, "env must be a map of variables to values");
  for (const YamlEntry& entry : node.entries) {
    if (const auto why = refuse_variable(entry.key)) return error_at(entry.place, *why);
    if (entry.value.kind == YamlNode::Kind::null)
      return error_at(
          entry.place,
          fmt::format("{} has no value; write \"\" for an empty one, or list it under unset",
                      entry.key));
    if (entry.value.kind != YamlNode::Kind::scalar)
      return error_at(entry.value.place, fmt::format("{} must be one value", entry.key));
    env[entry.key] = {entry.value.text, entry.value.place};
    std::erase(unset, entry.key);
  }
  return std::nullopt;
}

std::optional<Error> read_unset(const YamlNode& node, VariableSettings& env,
                                std::vector<std::string>& unset) {
  if (node.kind != YamlNode::Kind::list)
    return error_at(node.place, "unset must be a list of variables");
  for (const YamlNode& item : node.items) {
    if (item.kind != YamlNode::Kind::scalar)
      return error_at(item.place, "unset must hold names of variables only");
    if (const auto why = refuse_variable(item.text)) return error_at(item.place, *why);
    const auto set = env.find(item.text);
    if (set != env.end() && set->second.place.file == item.place.file)
      return error_at(item.place, fmt::format("{} is set in line {} and unset here", item.text,
                                              set->second.place.line));
    env.erase(item.text);
    std::erase(unset, item.text);
    unset.push_back(item.text);
  }
  return std::nullopt;
}

}  // namespace safelaunch::profile
