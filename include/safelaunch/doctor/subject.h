#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/job/command.h"
#include "safelaunch/job/topology.h"

namespace safelaunch::doctor {

/// What the host is looked at for.
struct Subject {
  Environment environment;
  std::optional<job::Command>
      command;  ///< none: a rank of the world that the environment describes
  std::optional<job::SpawnPlan> spawn;  ///< set: safelaunch spawns the command's workers itself
  bool removes_locks = false;           ///< a run does, once all its ranks stand still behind one
  std::vector<std::filesystem::path> runs;  ///< places of runs, whose records tell what is theirs
};

/// True where a launcher of the command gives each rank its variables, so that those of the
/// environment mean nothing; a script of which we know nothing may do so too.
[[nodiscard]] bool makes_its_ranks(const Subject& subject);

/// The processes that the subject starts on this node; nullopt where that is not known.
[[nodiscard]] std::optional<int> processes_here(const Subject& subject);

/// The world that a rank, or a launcher, is told to join. What is not said is empty.
struct World {
  std::optional<int> rank;
  std::optional<int> size;
  std::optional<int> local_rank;
  std::optional<int> local_size;
  std::optional<int> node_rank;
  int nodes = 1;               ///< as far as anything says; 1 otherwise
  std::string master_address;  ///< a name or an address
  std::optional<int> master_port;
  bool operator==(const World&) const = default;
};

[[nodiscard]] World world_of(const Subject& subject);

}  // namespace safelaunch::doctor
