#include "safelaunch/job/worker.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// A worker gets what torchrun would give it, because scripts and libraries look for exactly that.
// The user's own settings for threads and errors stay. CPUs are divided as the devices are: by
// local rank, along the NUMA nodes.
namespace safelaunch::job {
namespace {

void set_ranks(const SpawnPlan& plan, int local_rank, Environment& variables) {
  const std::string rank = std::to_string(plan.start_rank + local_rank);
  const std::string world_size = std::to_string(plan.world_size);
  const std::string node_rank = std::to_string(plan.node_rank);
  variables["RANK"] = variables["ROLE_RANK"] = rank;
  variables["LOCAL_RANK"] = std::to_string(local_rank);
  variables["WORLD_SIZE"] = variables["ROLE_WORLD_SIZE"] = world_size;
  variables["LOCAL_WORLD_SIZE"] = std::to_string(plan.workers);
  variables["NODE_RANK"] = variables["GROUP_RANK"] = node_rank;
  variables["GROUP_WORLD_SIZE"] = std::to_string(plan.nodes);
  variables["ROLE_NAME"] = "default";
}

void set_torchelastic(const RunIdentity& run, const std::string& rank, Environment& variables) {
  variables["TORCHELASTIC_RUN_ID"] = run.run_id;
  variables["TORCHELASTIC_RESTART_COUNT"] = "0";
  variables["TORCHELASTIC_MAX_RESTARTS"] = "0";
  // No agent of ours listens on MASTER_PORT, so rank 0 must, as without a launcher.
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  if (!run.error_folder.empty())
    variables["TORCHELASTIC_ERROR_FILE"] =
        fmt::format("{}/rank-{}.error.json", run.error_folder, rank);
  variables["TORCHELASTIC_SIGNALS_TO_HANDLE"] = "SIGTERM,SIGINT,SIGHUP,SIGQUIT";
}

/// JAX reads the coordinator and the devices from variables, but neither rank nor world size: the
/// hook tells it those (jax_cluster.py), or a script passes them from RANK and WORLD_SIZE.
void set_jax(const SpawnPlan& plan, int local_rank, Environment& variables) {
  const bool ipv6 = plan.master_addr.find(':') != std::string::npos;
  const std::string host = ipv6 ? "[" + plan.master_addr + "]" : plan.master_addr;
  variables["JAX_COORDINATOR_ADDRESS"] = host + ":" + variables["MASTER_PORT"];
  // Without this every process takes all GPUs of the node.
  if (plan.devices.size() >= static_cast<std::size_t>(plan.workers))
    variables["JAX_LOCAL_DEVICE_IDS"] = std::to_string(local_rank);
}

}  // namespace

Environment worker_environment(const SpawnPlan& plan, int local_rank, const RunIdentity& run,
                               const Environment& inherited) {
  Environment variables;
  set_ranks(plan, local_rank, variables);
  set_torchelastic(run, variables["RANK"], variables);
  variables["MASTER_ADDR"] = plan.master_addr;
  if (plan.master_port) variables["MASTER_PORT"] = std::to_string(*plan.master_port);
  set_jax(plan, local_rank, variables);
  if (!inherited.contains("TORCH_NCCL_ASYNC_ERROR_HANDLING"))
    variables["TORCH_NCCL_ASYNC_ERROR_HANDLING"] = "1";
  if (!inherited.contains("OMP_NUM_THREADS") && plan.workers > 1)
    variables["OMP_NUM_THREADS"] = "1";
  if (plan.devices_selected) variables["CUDA_VISIBLE_DEVICES"] = join(plan.devices, ",");
  return variables;
}

namespace {

using Cpus = std::vector<int>;

/// The begin of part `index`, when `size` things are cut into `parts` parts as even as can be.
std::size_t cut(std::size_t size, std::size_t index, std::size_t parts) {
  return size * index / parts;
}

/// Part `index` of `parts` of a node's CPUs; one CPU at least.
Cpus share(const Cpus& cpus, std::size_t index, std::size_t parts) {
  const std::size_t first = cut(cpus.size(), index, parts);
  const std::size_t last = std::max(first + 1, cut(cpus.size(), index + 1, parts));
  return Cpus(cpus.begin() + static_cast<Cpus::difference_type>(first),
              cpus.begin() + static_cast<Cpus::difference_type>(last));
}

}  // namespace

std::vector<std::vector<int>> bind_workers(Binding binding, std::span<const std::vector<int>> nodes,
                                           int workers) {
  std::vector<const Cpus*> usable;  // a node may have memory and no CPU
  for (const Cpus& node : nodes)
    if (!node.empty()) usable.push_back(&node);
  const auto count = static_cast<std::size_t>(std::max(0, workers));
  std::vector<Cpus> result(count);
  if (binding == Binding::none || usable.empty()) return result;

  const auto node_of = [&](std::size_t worker) { return worker * usable.size() / count; };
  for (std::size_t first = 0; first < count;) {
    const std::size_t node = node_of(first);
    std::size_t last = first;
    while (last < count && node_of(last) == node) ++last;
    for (std::size_t worker = first; worker < last; ++worker)
      result[worker] = binding == Binding::numa
                           ? *usable[node]
                           : share(*usable[node], worker - first, last - first);
    first = last;
  }
  return result;
}

}  // namespace safelaunch::job
