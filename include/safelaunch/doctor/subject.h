#pragma once

#include <filesystem>

#include "safelaunch/base/environment.h"
#include "safelaunch/job/command.h"
#include "safelaunch/job/topology.h"

namespace safelaunch::doctor {

/// The command or the rank for which the doctor looks at the host.
struct Subject {
  Environment environment;
  std::optional<job::Command>
      command;  ///< none: the subject is a rank of the world that the environment describes
  /// Set where safelaunch spawns the command's workers itself.
  std::optional<job::SpawnPlan> spawn;
  /// The files that the command names and that are not there, a sentence each, where somebody has
  /// looked for them.
  std::vector<std::string> missing_files;
  /// True for a run that removes a lock once all its ranks stand still behind it.
  bool removes_locks = false;
  /// Places of runs, whose records tell which segments are theirs.
  std::vector<std::filesystem::path> runs;
};

/// True where a launcher of the command gives each rank its variables, so that those of the
/// environment mean nothing. An unknown script counts as one, because it may do so too.
[[nodiscard]] bool makes_its_ranks(const Subject& subject);

/// The number of processes that the subject starts on this node; nullopt where nothing tells it.
[[nodiscard]] std::optional<int> processes_here(const Subject& subject);

/// The world that a rank, or a launcher, is told to join. A field that nothing tells is empty.
struct World {
  std::optional<int> rank;
  std::optional<int> size;
  std::optional<int> local_rank;
  std::optional<int> local_size;
  std::optional<int> node_rank;
  int nodes = 1;               ///< 1 where nothing tells the number of nodes
  std::string master_address;  ///< a host name or an IP address
  std::optional<int> master_port;
  bool operator==(const World&) const = default;
};

[[nodiscard]] World world_of(const Subject& subject);

}  // namespace safelaunch::doctor
