#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/result.h"
#include "safelaunch/job/port.h"
#include "safelaunch/job/process_count.h"

namespace safelaunch::job {

/// What the user asked for when safelaunch spawns the workers itself. Nothing set: one worker for
/// each GPU of this host.
struct SpawnOptions {
  std::optional<ProcessCount> processes_per_node;
  std::vector<std::string> devices;  ///< --devices: numbers, UUIDs or MIG names
  std::optional<int> nodes;
  std::optional<int> node_rank;
  std::optional<int> start_rank;  ///< global rank of this node's first worker
  std::optional<int> world_size;
  std::optional<std::string> master_addr;
  std::optional<int> master_port;
};

/// What this host has.
struct HostCounts {
  int gpus = 0;  ///< before CUDA_VISIBLE_DEVICES
  int cpus = 1;  ///< that we may run on

  /// The devices that workers can use, as the driver tells them with CUDA_VISIBLE_DEVICES taken
  /// into account: not a GPU that is lost, and of sliced GPUs one slice. nullopt: the driver was
  /// not asked, or does not answer, and the count must do.
  std::optional<std::vector<std::string>> usable = std::nullopt;
};

/// Who runs where, when safelaunch spawns the workers of this node.
struct SpawnPlan {
  int workers = 1;  ///< on this node
  int nodes = 1;
  int node_rank = 0;
  int start_rank = 0;
  int world_size = 1;
  std::string master_addr = "127.0.0.1";
  /// nullopt until one is chosen; of several nodes it is always settled.
  std::optional<int> master_port;

  std::vector<std::string> devices;  ///< the GPUs that the workers share out by LOCAL_RANK
  /// CUDA_VISIBLE_DEVICES must be set to them: --devices names them, or CUDA would choose others.
  bool devices_selected = false;
};

/// "0,1", "GPU-8932f937", "MIG-…": the words of --devices or CUDA_VISIBLE_DEVICES. As CUDA does, it
/// stops at the first that cannot be a device ("-1", "NoDevFiles").
[[nodiscard]] std::vector<std::string> parse_devices(std::string_view text);

/// Settles the numbers, or says which of them contradict each other. `--devices` picks among what
/// CUDA_VISIBLE_DEVICES allows; MASTER_ADDR and MASTER_PORT of the environment count where no
/// option says otherwise.
[[nodiscard]] Result<SpawnPlan> plan_spawn(const SpawnOptions& options,
                                           const Environment& environment, const HostCounts& host);

/// What may be done about the port of workers that we spawn ourselves.
[[nodiscard]] PortPolicy port_policy(const SpawnPlan& plan);

}  // namespace safelaunch::job
