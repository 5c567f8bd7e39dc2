#include "needs_trust.h"

#include <algorithm>
#include <array>

#include "safelaunch/base/format.h"

namespace safelaunch::profile {
namespace {

constexpr std::array<std::string_view, 9> kTuned{
    "NCCL_", "TORCH_NCCL_", "TORCH_DISTRIBUTED_", "GLOO_", "OMP_", "MKL_", "UCX_", "FI_", "TP_"};
// A plugin is loaded, and what names a file is read, written or loaded.
constexpr std::array<std::string_view, 8> kNamesPlace{"PLUGIN", "PATH", "FILE", "LIB",
                                                      "DIR",    "CONF", "TOOL", "MODULE"};
constexpr std::array<std::string_view, 5> kDecidingOptions{"clean", "keep-days", "keep-runs",
                                                           "log-dir", "run-dir"};

std::optional<std::string> variables_of(const YamlNode& node) {
  for (const YamlEntry& entry : node.entries)
    if (!is_harmless_variable(entry.key)) return "sets " + entry.key;
  const auto unset = [](const YamlNode& one) { return !is_harmless_variable(one.text); };
  const auto found = std::ranges::find_if(node.items, unset);
  if (found != node.items.end()) return "unsets " + found->text;
  return std::nullopt;
}

std::optional<std::string> options_of(const YamlNode& node) {
  for (const YamlEntry& entry : node.entries)
    if (std::ranges::find(kDecidingOptions, entry.key) != kDecidingOptions.end())
      return fmt::format("sets the option {}", entry.key);
  return std::nullopt;
}

// In a chain, or in what a profile extends: a name is looked up, and what is found is judged too.
std::optional<std::string> files_of(const YamlNode& node) {
  if (node.text.find('/') != std::string::npos || node.text.find(".y") != std::string::npos)
    return fmt::format("names the file {}", node.text);
  for (const YamlNode& item : node.items)
    if (auto why = files_of(item)) return why;
  return std::nullopt;
}

std::optional<std::string> in_entry(const YamlEntry& entry) {
  if (entry.key == "env" || entry.key == "unset") return variables_of(entry.value);
  if (entry.key == "args") return "changes the script's arguments";
  if (entry.key == "options") return options_of(entry.value);
  if (entry.key == "chain" || entry.key == "extends") return files_of(entry.value);
  for (const YamlNode& item : entry.value.items)  // clusters
    if (auto why = what_needs_trust(item)) return why;
  return std::nullopt;
}

}  // namespace

bool is_harmless_variable(std::string_view name) {
  const auto begins = [&](std::string_view family) { return name.starts_with(family); };
  const auto holds = [&](std::string_view word) { return name.find(word) != name.npos; };
  return std::ranges::any_of(kTuned, begins) && std::ranges::none_of(kNamesPlace, holds);
}

std::optional<std::string> what_needs_trust(const YamlNode& root) {
  for (const YamlEntry& entry : root.entries)
    if (auto why = in_entry(entry)) return why;
  return std::nullopt;
}

std::optional<std::string> what_needs_trust(std::string_view text) {
  const Result<YamlNode> root = parse_yaml(text, "");
  return root ? what_needs_trust(*root) : std::nullopt;
}

}  // namespace safelaunch::profile
