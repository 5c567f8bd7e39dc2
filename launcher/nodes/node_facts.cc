#include "safelaunch/nodes/node_facts.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/gpu/libraries.h"
#include "safelaunch/job/command.h"

// A fact is compared as it stands, so everything that differs on healthy jobs (addresses, numbers
// of nodes, times) is kept out of it.
namespace safelaunch::nodes {
namespace {

using FactsJson = nlohmann::json;

constexpr std::size_t kLongestFact = 4'096;
constexpr std::size_t kLongestShown = 60;
constexpr std::size_t kShownBefore = 20;
constexpr std::size_t kMostFacts = 200;
constexpr std::size_t kMostHosts = 4;
constexpr std::size_t kLongestScript = 1U << 20;

// These name the node itself, or what may be called otherwise there, and so differ on purpose. The
// ways between the nodes tell whether an interface is the right one.
constexpr std::array<std::string_view, 6> kOfTheNode{"NCCL_HOSTID",        "NCCL_DEBUG_FILE",
                                                     "NCCL_RAS_ADDR",      "NCCL_SOCKET_MAGIC",
                                                     "NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"};
constexpr std::array<std::string_view, 3> kPrefixes{"NCCL_", "GLOO_", "TORCH_NCCL_"};
constexpr std::array<std::string_view, 5> kNodeOptions{"--node-rank", "--machine-rank",
                                                       "--rdzv-conf", "--local-addr", "--log-dir"};

bool is_compared(std::string_view variable) {
  if (std::ranges::find(kOfTheNode, variable) != kOfTheNode.end()) return false;
  return std::ranges::any_of(kPrefixes,
                             [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

// The launcher's own words without those that each node has for itself, and the script's.
std::string arguments_of(const job::Command& command) {
  std::vector<std::string> words;
  for (std::size_t i = command.launcher_word; i < command.argv.size(); ++i) {
    std::string name = command.argv[i].substr(0, command.argv[i].find('='));
    std::ranges::replace(name, '_', '-');
    const bool of_the_node = std::ranges::find(kNodeOptions, name) != kNodeOptions.end();
    if (of_the_node && command.argv[i].find('=') == std::string::npos) ++i;
    if (of_the_node || i >= command.argv.size()) continue;
    words.push_back(command.argv[i]);
  }
  return join(words, " ");
}

// FNV-1a, 64 bits (Fowler, Noll, Vo): it tells two versions of a script apart, and hides nothing.
std::string digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3;
  }
  return fmt::format("{:016x}", hash);
}

void add_script(const job::Command& command, NodeFacts& facts) {
  if (!command.script || command.script->kind != job::ScriptKind::file) return;
  const auto text = user_file_text(command.argv[command.script->word], kLongestScript);
  if (text) facts["the script's content"] = digest(*text);
}

void add_libraries(const plan::RunPlan& plan, NodeFacts& facts) {
  const gpu::JobLibraries found =
      gpu::find_job_libraries(plan.command.python.value_or(""), plan.environment);
  const auto add = [&](const char* name, const std::string& version) {
    if (!version.empty()) facts[name] = version;
  };
  add("torch", found.torch_version);
  if (!found.nccl.empty()) add("NCCL", found.nccl.front().version);
  if (!found.driver.empty()) add("the driver", found.driver.front().version);
}

std::string some_of(const std::vector<std::string>& hosts) {
  std::string text;
  for (std::size_t i = 0; i < std::min(hosts.size(), kMostHosts); ++i) text += " " + hosts[i];
  if (hosts.size() > kMostHosts) text += fmt::format(" and {} more", hosts.size() - kMostHosts);
  return text;
}

using HostsByValue = std::map<std::string, std::vector<std::string>>;

std::size_t alike_until(std::string_view one, std::string_view other) {
  const auto parted = std::ranges::mismatch(one, other);
  return static_cast<std::size_t>(parted.in1 - one.begin());
}

// Two long commands may be alike for their first hundred characters: such a value is shown from a
// little before where it parts from its neighbour.
std::string shown(const HostsByValue& values, HostsByValue::const_iterator at) {
  if (at->first.empty()) return "(empty)";
  std::size_t alike = 0;
  if (at != values.begin()) alike = alike_until(at->first, std::prev(at)->first);
  if (std::next(at) != values.end())
    alike = std::max(alike, alike_until(at->first, std::next(at)->first));
  if (alike < kLongestShown) return std::string(cut(at->first, kLongestShown));
  const std::string_view before = cut(at->first, alike - kShownBefore);
  return fmt::format("…{}", cut(std::string_view(at->first).substr(before.size()), kLongestShown));
}

}  // namespace

NodeFacts facts_of(const plan::RunPlan& plan) {
  NodeFacts facts;
  facts["the command"] = arguments_of(plan.command);
  facts["the profiles"] = join(plan.chain_names, ",");
  add_script(plan.command, facts);
  add_libraries(plan, facts);
  for (const auto& [name, value] : plan.environment)
    if (is_compared(name)) facts[name] = value;
  return facts;
}

std::string to_text(const NodeFacts& facts) {
  FactsJson json = FactsJson::object();
  for (const auto& [name, value] : facts) json[name] = cut(value, kLongestFact);
  return json.dump(-1, ' ', false, FactsJson::error_handler_t::replace);
}

NodeFacts facts_from(std::string_view text) {
  NodeFacts facts;
  const FactsJson json = parse_json<FactsJson>(text);
  if (!json.is_object()) return facts;
  for (const auto& [name, value] : json.items())
    if (value.is_string() && facts.size() < kMostFacts)
      facts[std::string(cut(name, kLongestShown))] =
          std::string(cut(value.get_ref<const std::string&>(), kLongestFact));
  return facts;
}

std::vector<std::string> differences(const std::map<std::string, NodeFacts>& by_host) {
  std::map<std::string, HostsByValue> hosts_by_value;
  for (const auto& [host, facts] : by_host)
    for (const auto& [name, value] : facts) hosts_by_value[name][value].push_back(host);
  // A variable that is not set on a node is a difference; a version that is not known is none.
  for (auto& [name, values] : hosts_by_value)
    if (is_compared(name))
      for (const auto& [host, facts] : by_host)
        if (!facts.empty() && !facts.contains(name)) values["(not set)"].push_back(host);
  std::vector<std::string> lines;
  for (const auto& [name, values] : hosts_by_value) {
    if (values.size() < 2) continue;
    std::string line = fmt::format("the nodes differ in {}:", name);
    const char* separator = "";
    for (auto at = values.begin(); at != values.end(); ++at) {
      line += fmt::format("{} {} on{}", separator, shown(values, at), some_of(at->second));
      separator = ",";
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace safelaunch::nodes
