#pragma once

#include <string>
#include <variant>
#include <vector>

#include "safelaunch/clean/stale.h"
#include "safelaunch/clean/stale_file.h"

namespace safelaunch::clean {

/// What earlier runs left behind.
struct Leftovers {
  std::vector<StaleProcess> processes;
  std::vector<StaleFile> files;
};

/// One of them, and what was, or would be, done with it.
struct Removal {
  std::variant<StaleProcess, StaleFile> what;
  std::string done;  ///< "ended", "would be removed", "left alone", or why it is still there
};

/// What `remove` would do.
[[nodiscard]] std::vector<Removal> plan_removal(const Leftovers& left,
                                                settings::CleanPolicy policy);

/// Ends the processes and removes the files that the policy allows, each looked at again just
/// before: the one way in which safelaunch cleans. Blocks while processes end. Processes first, in
/// the order of `left`.
[[nodiscard]] std::vector<Removal> remove(const Leftovers& left, settings::CleanPolicy policy);

/// "ended: pid 71 (python train.py), …", "removed: /dev/shm/nccl-vR6Fzi (9.2 MiB): …".
[[nodiscard]] std::string describe(const Removal& removal);

}  // namespace safelaunch::clean
