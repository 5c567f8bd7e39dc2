#pragma once

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/job/command.h"
#include "safelaunch/job/port.h"

namespace safelaunch::job {

/// The user's wishes when safelaunch spawns the workers itself. Without any wish there is one
/// worker for each GPU of this host.
struct SpawnOptions {
  std::optional<ProcessCount> processes_per_node;
  std::vector<std::string> devices;  ///< the words of --devices: numbers, UUIDs or MIG names
  std::optional<int> nodes;
  std::optional<int> node_rank;
  std::optional<int> start_rank;  ///< global rank of this node's first worker
  std::optional<int> world_size;
  std::optional<std::string> master_addr;
  std::optional<int> master_port;
};

/// The devices and CPUs of this host.
struct HostCounts {
  int gpus = 0;  ///< all GPUs, whatever CUDA_VISIBLE_DEVICES says
  int cpus = 1;  ///< the CPUs that we may run on

  /// The devices that workers can use, as the driver tells them under CUDA_VISIBLE_DEVICES: no lost
  /// GPU, and one slice of a sliced GPU. nullopt: the driver was not asked or does not answer, so
  /// the count must do.
  std::optional<std::vector<std::string>> usable = std::nullopt;
};

/// The ranks and devices of this node, when safelaunch spawns its workers.
struct SpawnPlan {
  int workers = 1;  ///< the workers of this node
  int nodes = 1;
  int node_rank = 0;
  int start_rank = 0;
  int world_size = 1;
  std::string master_addr = "127.0.0.1";
  /// nullopt until a port is chosen; with several nodes it is always settled.
  std::optional<int> master_port;

  std::vector<std::string> devices;  ///< the GPUs that the workers share out by LOCAL_RANK
  /// CUDA_VISIBLE_DEVICES must be set to `devices`: --devices names them, or CUDA would choose
  /// others.
  bool devices_selected = false;
};

/// Takes the words of --devices or CUDA_VISIBLE_DEVICES apart: "0,1", "GPU-8932f937", "MIG-…". As
/// CUDA does, it stops at the first word that cannot be a device ("-1", "NoDevFiles").
[[nodiscard]] std::vector<std::string> parse_devices(std::string_view text);

/// Settles the numbers, or says which of them contradict each other. `--devices` picks among the
/// devices that CUDA_VISIBLE_DEVICES allows; MASTER_ADDR and MASTER_PORT of the environment count
/// where no option says otherwise.
[[nodiscard]] Result<SpawnPlan> plan_spawn(const SpawnOptions& options,
                                           const Environment& environment, const HostCounts& host);

/// The freedom that we have with the port of workers that we spawn ourselves.
[[nodiscard]] PortPolicy port_policy(const SpawnPlan& plan);

}  // namespace safelaunch::job
