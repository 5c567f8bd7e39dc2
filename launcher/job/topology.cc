#include "safelaunch/job/topology.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

/// Numbers that the user gave are taken, the missing ones follow from them and from the devices,
/// and all numbers together are checked for contradictions.
namespace safelaunch::job {
namespace {

using Devices = std::vector<std::string>;

constexpr int kMostRanks = 1'000'000'000;  // a scheduler's variable may hold any number

bool is_device(std::string_view word) {
  return is_number(word) || word.starts_with("GPU-") || word.starts_with("MIG-");
}

/// The devices that a process on this host sees without --devices.
Devices visible_devices(const Environment& environment, int gpus) {
  if (const auto it = environment.find("CUDA_VISIBLE_DEVICES"); it != environment.end())
    return parse_devices(it->second);
  Devices devices;
  for (int gpu = 0; gpu < gpus; ++gpu) devices.push_back(std::to_string(gpu));
  return devices;
}

/// The visible device that a word of --devices means: the device of that name, the only one whose
/// UUID begins so, or, where the visible ones have no numbers, the one at this position.
std::optional<std::string> pick_device(const std::string& wanted, const Devices& visible) {
  if (wanted.empty()) return std::nullopt;
  if (std::ranges::find(visible, wanted) != visible.end()) return wanted;
  if (is_number(wanted)) {
    const bool numbered = std::ranges::any_of(visible, is_number);
    const auto position = to_number(wanted);
    const bool in_range = position && static_cast<std::size_t>(*position) < visible.size();
    return !numbered && in_range ? std::optional(visible[static_cast<std::size_t>(*position)])
                                 : std::nullopt;
  }
  const auto begins = [&](const std::string& device) { return device.starts_with(wanted); };
  if (std::ranges::count_if(visible, begins) == 1) return *std::ranges::find_if(visible, begins);
  // A host knows its GPUs by number only: a UUID is for CUDA to judge.
  const bool unrestricted = std::ranges::all_of(visible, is_number);
  return unrestricted && is_device(wanted) ? std::optional(wanted) : std::nullopt;
}

Result<Devices> select_devices(const Devices& wanted, const Devices& visible) {
  if (wanted.empty()) return visible;
  Devices selected;
  for (const std::string& word : wanted) {
    const auto device = pick_device(word, visible);
    if (!device)
      return Error{
          Errc::usage,
          fmt::format("--devices {}: '{}' is not among the GPUs that this process may use "
                      "({})",
                      join(wanted, ","), word, visible.empty() ? "none" : join(visible, ","))};
    if (std::ranges::find(selected, *device) != selected.end())
      return Error{Errc::usage,
                   fmt::format("--devices {} names GPU {} twice", join(wanted, ","), *device)};
    selected.push_back(*device);
  }
  return selected;
}

Result<int> count_workers(const std::optional<ProcessCount>& wanted, int devices, int cpus) {
  if (!wanted) return std::max(1, devices);
  if (const int* number = std::get_if<int>(&*wanted)) return *number;
  switch (std::get<CountWord>(*wanted)) {
    case CountWord::cpu: return cpus;
    case CountWord::automatic: return devices > 0 ? devices : cpus;
    case CountWord::xpu:
      return Error{Errc::usage,
                   "--nproc-per-node xpu: Intel's devices are not counted here; give the number"};
    case CountWord::gpu: break;
  }
  if (devices > 0) return devices;
  return Error{Errc::usage,
               "--nproc-per-node gpu: no GPU is visible here (see CUDA_VISIBLE_DEVICES and "
               "nvidia-smi); give a number, or cpu"};
}

Error contradiction(std::string text) {
  return Error{Errc::usage, std::move(text)};
}

/// Fills in nodes, ranks and world size, as far as they follow from each other.
Result<> settle_ranks(const SpawnOptions& options, SpawnPlan& plan) {
  plan.nodes = options.nodes.value_or(1);
  plan.node_rank = options.node_rank.value_or(0);
  if (plan.nodes < 1) return contradiction(fmt::format("--nnodes {} is below 1", plan.nodes));
  if (plan.node_rank < 0 || plan.node_rank >= plan.nodes)
    return contradiction(fmt::format("--node-rank {} does not fit --nnodes {}: it counts from 0",
                                     plan.node_rank, plan.nodes));
  if (plan.nodes > kMostRanks / plan.workers)
    return contradiction(fmt::format("--nnodes {} with {} workers each would be more than {} ranks",
                                     plan.nodes, plan.workers, kMostRanks));
  plan.start_rank = options.start_rank.value_or(plan.node_rank * plan.workers);
  plan.world_size = options.world_size.value_or(plan.nodes * plan.workers);
  if (plan.start_rank < 0 || plan.start_rank > plan.world_size - plan.workers)
    return contradiction(
        fmt::format("ranks {} to {} of this node do not fit a world of {}: with different numbers "
                    "of GPUs on the nodes give --start-rank and --world-size",
                    plan.start_rank, plan.start_rank + plan.workers - 1, plan.world_size));
  if (plan.nodes == 1 && plan.world_size != plan.workers)
    return contradiction(fmt::format(
        "a world of {} needs more than the {} workers of this node: give --nnodes and --node-rank",
        plan.world_size, plan.workers));
  return {};
}

Result<> settle_master(const SpawnOptions& options, const Environment& environment,
                       SpawnPlan& plan) {
  const std::string_view inherited = value_or(environment, "MASTER_ADDR");
  if (options.master_addr || !inherited.empty())
    plan.master_addr = options.master_addr.value_or(std::string(inherited));
  else if (plan.nodes > 1)
    return contradiction("several nodes need --master-addr: the address of node 0");
  if (!plan.master_addr.empty() && !may_be_host(plan.master_addr))
    return contradiction(fmt::format("{} '{}' is no host: write its name or address alone",
                                     options.master_addr ? "--master-addr" : "MASTER_ADDR",
                                     plan.master_addr));
  plan.master_port = options.master_port;
  const std::string_view port = value_or(environment, "MASTER_PORT");
  if (!plan.master_port && !port.empty()) {
    plan.master_port = to_number(port);
    if (!plan.master_port) return contradiction(fmt::format("MASTER_PORT={} is no port", port));
  }
  if (plan.master_port == 0) plan.master_port = std::nullopt;
  if (plan.master_port && (*plan.master_port < 0 || *plan.master_port > 65535))
    return contradiction(fmt::format("port {} does not exist", *plan.master_port));
  // No node can choose a port that the others do not know, so all take torch's default.
  if (plan.nodes > 1 && !plan.master_port) plan.master_port = kDefaultMasterPort;
  return {};
}

}  // namespace

std::vector<std::string> parse_devices(std::string_view text) {
  Devices devices;
  while (!text.empty()) {
    const std::string_view word = trimmed(take_word(text, ','));
    if (!is_device(word)) break;
    devices.emplace_back(word);
  }
  return devices;
}

Result<SpawnPlan> plan_spawn(const SpawnOptions& options, const Environment& environment,
                             const HostCounts& host) {
  SpawnPlan plan;
  const Devices visible = visible_devices(environment, host.gpus);
  const Devices usable = host.usable.value_or(visible);
  auto devices = select_devices(options.devices, usable);
  if (!devices) return devices.error();
  plan.devices = *std::move(devices);
  plan.devices_selected = !options.devices.empty() || usable != visible;

  const int gpus = static_cast<int>(plan.devices.size());
  const auto workers = count_workers(options.processes_per_node, gpus, host.cpus);
  if (!workers) return workers.error();
  plan.workers = *workers;
  if (plan.workers < 1) return contradiction("--nproc-per-node must be 1 or more");

  if (const auto settled = settle_ranks(options, plan); !settled) return settled.error();
  if (const auto settled = settle_master(options, environment, plan); !settled)
    return settled.error();
  return plan;
}

PortPolicy port_policy(const SpawnPlan& plan) {
  if (plan.nodes > 1) return PortPolicy::multi_node;
  return plan.master_port ? PortPolicy::user : PortPolicy::choose;
}

}  // namespace safelaunch::job
