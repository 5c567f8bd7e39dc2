#include "safelaunch/doctor/subject.h"

#include <algorithm>
#include <initializer_list>

#include "safelaunch/base/strings.h"

// A command's launcher, the command line and the environment may each tell the same fact of the
// world. The launcher's options count most, then the variables; the plan of workers that safelaunch
// spawns itself outranks both.
namespace safelaunch::doctor {
namespace {

using Names = std::initializer_list<std::string_view>;

std::optional<int> variable(const Subject& subject, Names names) {
  for (const std::string_view name : names)
    if (const auto value = to_number(value_or(subject.environment, name))) return value;
  return std::nullopt;
}

std::string option(const Subject& subject, Names names) {
  return subject.command ? job::launcher_option(*subject.command, names) : std::string();
}

int nodes_of(const Subject& subject, const World& world) {
  if (subject.spawn) return subject.spawn->nodes;
  if (subject.command && subject.command->nodes) return subject.command->nodes->max;
  if (world.size && world.local_size && *world.local_size > 0)
    return (*world.size + *world.local_size - 1) / *world.local_size;
  return variable(subject, {"GROUP_WORLD_SIZE", "NNODES", "SLURM_NNODES"}).value_or(1);
}

void read_endpoint(const Subject& subject, World& world) {
  if (subject.command) world.master_address = job::master_host(*subject.command);
  if (world.master_address.empty())
    world.master_address = value_or(subject.environment, "MASTER_ADDR");
  world.master_port =
      subject.command ? subject.command->port.value : variable(subject, {"MASTER_PORT"});
  if (!subject.spawn) return;
  world.master_address = subject.spawn->master_addr;
  world.master_port = subject.spawn->master_port;
}

}  // namespace

bool makes_its_ranks(const Subject& subject) {
  if (subject.spawn) return true;
  return subject.command && subject.command->launcher != job::Launcher::python;
}

std::optional<int> processes_here(const Subject& subject) {
  if (subject.spawn) return subject.spawn->workers;
  if (!subject.command || !subject.command->processes_per_node) return std::nullopt;
  const int* count = std::get_if<int>(&*subject.command->processes_per_node);
  return count != nullptr ? std::optional(*count) : std::nullopt;
}

World world_of(const Subject& subject) {
  World world;
  if (!makes_its_ranks(subject)) {
    world.rank = variable(subject, {"RANK"});
    world.size = variable(subject, {"WORLD_SIZE"});
    world.local_rank = variable(subject, {"LOCAL_RANK"});
    world.local_size = variable(subject, {"LOCAL_WORLD_SIZE"});
  }
  world.node_rank = to_number(option(subject, {"--node-rank", "--machine-rank"}));
  if (!world.node_rank)
    world.node_rank = variable(subject, {"NODE_RANK", "GROUP_RANK", "SLURM_NODEID"});
  if (subject.spawn) world.node_rank = subject.spawn->node_rank;
  world.nodes = nodes_of(subject, world);
  read_endpoint(subject, world);
  return world;
}

}  // namespace safelaunch::doctor
