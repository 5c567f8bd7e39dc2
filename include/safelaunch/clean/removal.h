#pragma once

#include <string>
#include <variant>
#include <vector>

#include "safelaunch/clean/stale.h"
#include "safelaunch/clean/stale_file.h"

namespace safelaunch::clean {

/// The processes and files that earlier runs left behind.
struct Leftovers {
  std::vector<StaleProcess> processes;
  std::vector<StaleFile> files;
};

/// One leftover, and its fate: done, or planned.
struct Removal {
  std::variant<StaleProcess, StaleFile> what;
  std::string done;  ///< "ended", "would be removed", "left alone", or why it is still there
};

/// Tells what `remove` would do.
[[nodiscard]] std::vector<Removal> plan_removal(const Leftovers& left,
                                                settings::CleanPolicy policy);

/// Ends the processes and removes the files that the policy allows; safelaunch cleans in no other
/// way. Each leftover is looked at again just before. Processes come first, in the order of `left`.
/// Blocks while processes end.
[[nodiscard]] std::vector<Removal> remove(const Leftovers& left, settings::CleanPolicy policy);

/// "ended: pid 71 (python train.py), …", "removed: /dev/shm/nccl-vR6Fzi (9.2 MiB): …".
[[nodiscard]] std::string describe(const Removal& removal);

}  // namespace safelaunch::clean
