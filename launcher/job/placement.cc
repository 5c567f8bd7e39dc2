#include "safelaunch/job/placement.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/job/port.h"

// The command's own options count most, then what started us on each node, then the variables that
// people set themselves. The ranks read the same facts: safelaunch only has to know them too.
namespace safelaunch::job {
namespace {

constexpr std::size_t kMostHosts = 100'000;
constexpr std::size_t kMostDigits = 10;

std::optional<int> number(const Environment& environment, std::string_view name) {
  return to_number(value_or(environment, name));
}

// "3(x2),1" says 3, 3, 1.
bool one_on_each_node(std::string_view tasks_per_node) {
  return tasks_per_node == "1" ||
         (tasks_per_node.starts_with("1(x") && tasks_per_node.find(',') == std::string_view::npos);
}

std::optional<Starter> find_slurm(const Environment& environment) {
  const auto nodes = number(environment, "SLURM_STEP_NUM_NODES");
  if (!nodes || !one_on_each_node(value_or(environment, "SLURM_STEP_TASKS_PER_NODE")))
    return std::nullopt;
  Starter slurm{.name = "Slurm", .nodes = *nodes, .node = number(environment, "SLURM_NODEID")};
  slurm.hosts = expand_hosts(value_or(environment, "SLURM_STEP_NODELIST"));
  slurm.job = fmt::format("slurm-{}.{}", value_or(environment, "SLURM_JOB_ID"),
                          value_or(environment, "SLURM_STEP_ID"));
  return slurm;
}

std::optional<Starter> find_mpi(const Environment& environment) {
  const auto size = number(environment, "OMPI_COMM_WORLD_SIZE");
  if (!size || number(environment, "OMPI_COMM_WORLD_LOCAL_SIZE") != 1) return std::nullopt;
  Starter mpi{
      .name = "Open MPI", .nodes = *size, .node = number(environment, "OMPI_COMM_WORLD_RANK")};
  const std::string_view job = value_or(environment, "PMIX_NAMESPACE");
  if (!job.empty()) mpi.job = fmt::format("mpi-{}", job);
  return mpi;
}

// The last number of "trainer-3", the name of a StatefulSet's third pod.
std::optional<int> ordinal_of(std::string_view pod) {
  const std::size_t dash = pod.rfind('-');
  return dash == std::string_view::npos ? std::nullopt : to_number(pod.substr(dash + 1));
}

// The number of pods stands in no variable of Kubernetes' own: the command tells it.
std::optional<Starter> find_kubernetes(const Environment& environment) {
  if (!environment.contains("KUBERNETES_SERVICE_HOST")) return std::nullopt;
  Starter pods{.name = "Kubernetes", .nodes = number(environment, "NNODES").value_or(0)};
  pods.node = number(environment, "JOB_COMPLETION_INDEX");
  if (!pods.node) pods.node = ordinal_of(value_or(environment, "HOSTNAME"));
  if (!pods.node) return std::nullopt;
  return pods;
}

using Names = std::initializer_list<std::string_view>;

std::string first_of(Names names, const Environment& environment) {
  for (const std::string_view name : names)
    if (const std::string_view value = value_or(environment, name); !value.empty())
      return std::string(value);
  return {};
}

std::string head_of(const Command& command, const std::optional<SpawnPlan>& spawn,
                    const Environment& environment) {
  if (spawn) return spawn->master_addr;
  const std::string named = master_host(command);
  return named.empty() ? first_of({"MASTER_ADDR"}, environment) : named;
}

std::optional<int> node_of(const Command& command, const std::optional<SpawnPlan>& spawn,
                           const Starter& starter, const Environment& environment) {
  if (spawn) return spawn->node_rank;
  if (const auto told = to_number(launcher_option(command, {"--node-rank", "--machine-rank"})))
    return told;
  return node_told(starter, environment);
}

// Where nobody names the job, the place at which its ranks meet does: it is the same on every node.
std::string name_of_job(const Command& command, const Starter& starter, const Placement& place) {
  if (!starter.job.empty()) return starter.job;
  const std::string id = launcher_option(command, {"--rdzv-id"});
  const std::string meeting = fmt::format("{}:{}", place.head, place.port.value_or(0));
  return id.empty() ? meeting : meeting + "/" + id;
}

}  // namespace

// Each starter is recognised by variables that nothing else sets. It counts only where it has
// started one process on each node: with one for each rank there is nothing left to spawn here.

std::optional<int> node_told(const Starter& starter, const Environment& environment) {
  if (starter.node) return starter.node;
  for (const char* variable : {"NODE_RANK", "GROUP_RANK"})
    if (const auto told = to_number(value_or(environment, variable))) return told;
  return std::nullopt;
}

Starter find_starter(const Environment& environment) {
  for (const auto find : {find_slurm, find_mpi, find_kubernetes})
    if (auto found = find(environment)) return *std::move(found);
  return {};
}

namespace {

// "01-03,7" behind "gpu" → gpu01 gpu02 gpu03 gpu7.
bool add_range(const std::string& before, std::string_view range, const std::string& after,
               std::vector<std::string>& hosts) {
  const std::size_t dash = range.find('-');
  const std::string_view low = range.substr(0, dash);
  const std::string_view high = dash == std::string_view::npos ? low : range.substr(dash + 1);
  const auto first = to_number<std::uint32_t>(low);
  const auto last = to_number<std::uint32_t>(high);
  if (!first || !last || *first > *last || low.size() > kMostDigits) return false;
  if (*last - *first >= kMostHosts - hosts.size()) return false;
  for (std::uint64_t number = *first; number <= *last; ++number)
    hosts.push_back(fmt::format("{}{:0{}}{}", before, number, low.size(), after));
  return true;
}

bool add_hosts(std::string_view word, std::vector<std::string>& hosts) {
  const std::size_t open = word.find('[');
  if (open == std::string_view::npos) {
    if (word.empty() || hosts.size() >= kMostHosts) return false;
    hosts.emplace_back(word);
    return true;
  }
  const std::size_t close = word.find(']', open);
  if (close == std::string_view::npos) return false;
  const std::string before(word.substr(0, open));
  const std::string after(word.substr(close + 1));
  if (after.find('[') != std::string::npos) return false;
  std::string_view ranges = word.substr(open + 1, close - open - 1);
  while (true) {
    const std::size_t comma = ranges.find(',');
    if (!add_range(before, ranges.substr(0, comma), after, hosts)) return false;
    if (comma == std::string_view::npos) return true;
    ranges.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<std::string> expand_hosts(std::string_view list) {
  std::vector<std::string> hosts;
  std::size_t begin = 0;
  bool inside = false;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    inside = c == '[' || (inside && c != ']');
    if (c != ',' || (inside && i < list.size())) continue;
    if (!add_hosts(list.substr(begin, i - begin), hosts)) return {};
    begin = i + 1;
  }
  return hosts;
}

std::optional<Placement> find_placement(const Command& command,
                                        const std::optional<SpawnPlan>& spawn,
                                        const Environment& environment) {
  Placement place;
  if (spawn) {
    place.nodes = spawn->nodes;
  } else {
    // An elastic launcher decides while it runs how many nodes there are, so agents could not.
    if (!command.nodes || command.nodes->min != command.nodes->max) return std::nullopt;
    if (command.descendants != Descendants::some) return std::nullopt;
    place.nodes = command.nodes->max;
  }
  if (place.nodes < 2) return std::nullopt;
  const Starter starter = find_starter(environment);
  // A starter of another number of nodes has not started one agent on each node of this job.
  place.starter = starter.nodes == place.nodes ? starter.name : std::string();
  if (!place.starter.empty()) place.hosts = starter.hosts;
  place.node = node_of(command, spawn, starter, environment);
  place.head = head_of(command, spawn, environment);
  if (place.head.empty() && !place.hosts.empty()) place.head = place.hosts.front();
  place.port = spawn ? spawn->master_port : command.port.value;
  if (!place.port) place.port = to_number(first_of({"MASTER_PORT"}, environment));
  if (!place.port) place.port = kDefaultMasterPort;
  place.job = name_of_job(command, starter, place);
  return place;
}

}  // namespace safelaunch::job
