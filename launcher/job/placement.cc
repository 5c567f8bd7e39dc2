#include "safelaunch/job/placement.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/job/port.h"
#include "safelaunch/job/starter.h"

// The command's own options count most, then what started us on each node, then the variables that
// people set themselves. What is found is what the ranks will find: safelaunch only has to know it
// too.
namespace safelaunch::job {
namespace {

using Names = std::initializer_list<std::string_view>;

std::string host_of(const std::string& endpoint) {
  if (endpoint.starts_with('[')) return endpoint.substr(1, endpoint.find(']') - 1);
  return endpoint.substr(0, endpoint.rfind(':'));
}

std::string first_of(Names names, const Environment& environment) {
  for (const std::string_view name : names)
    if (const std::string_view value = value_or(environment, name); !value.empty())
      return std::string(value);
  return {};
}

std::string head_of(const Command& command, const std::optional<SpawnPlan>& spawn,
                    const Environment& environment) {
  if (spawn) return spawn->master_addr;
  const std::string address = launcher_option(command, {"--master-addr", "--main-process-ip"});
  if (!address.empty()) return address;
  const std::string endpoint = launcher_option(command, {"--rdzv-endpoint"});
  return endpoint.empty() ? first_of({"MASTER_ADDR"}, environment) : host_of(endpoint);
}

std::optional<int> node_of(const Command& command, const std::optional<SpawnPlan>& spawn,
                           const Starter& starter, const Environment& environment) {
  if (spawn) return spawn->node_rank;
  if (const auto told = to_number(launcher_option(command, {"--node-rank", "--machine-rank"})))
    return told;
  return starter.node ? starter.node
                      : to_number(first_of({"NODE_RANK", "GROUP_RANK"}, environment));
}

std::string name_of_job(const Command& command, const Starter& starter, const Placement& place) {
  if (!starter.job.empty()) return starter.job;
  const std::string id = launcher_option(command, {"--rdzv-id"});
  const std::string meeting = fmt::format("{}:{}", place.head, place.port.value_or(0));
  return id.empty() ? meeting : meeting + "/" + id;
}

}  // namespace

std::optional<Placement> find_placement(const Command& command,
                                        const std::optional<SpawnPlan>& spawn,
                                        const Environment& environment) {
  Placement place;
  if (spawn) {
    place.nodes = spawn->nodes;
  } else {
    if (!command.nodes || command.nodes->min != command.nodes->max) return std::nullopt;
    if (command.descendants != Descendants::some) return std::nullopt;
    place.nodes = command.nodes->max;
  }
  if (place.nodes < 2) return std::nullopt;
  const Starter starter = find_starter(environment);
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
