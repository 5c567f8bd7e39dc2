#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "safelaunch/base/time.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/clean/stale_file.h"

namespace safelaunch::clean {

/// What a process was seen to hold by somebody else than the survey.
struct KnownHolding {
  int pid = 0;
  std::string what;  ///< "40960 MiB of GPU 0"
};

/// The GPUs that a run will use, by the N of /dev/nvidiaN; nullopt: any of them, or it is not
/// known.
using NeededGpus = std::optional<std::vector<int>>;

/// What is asked of the survey.
struct Needs {
  std::vector<std::uint16_t> ports;  ///< that the coming run needs for itself
  NeededGpus gpus = std::vector<int>{};
  std::vector<KnownHolding> held = {};
  bool inventory = false;  ///< also say everything that a rank without a launcher holds
  Duration watch{};        ///< look a second time at such ranks, so much later; 0: do not
};

/// The GPUs that a list as in CUDA_VISIBLE_DEVICES names, as far as they are told by number:
/// nullopt where one is told by name. Of a list longer than `processes` the first ones, if that is
/// known.
[[nodiscard]] NeededGpus gpus_named(std::span<const std::string> devices,
                                    std::optional<int> processes);

/// Ourselves, as the decision needs it.
[[nodiscard]] Surroundings read_surroundings();

/// Looks through the processes of this host and says what is stale or in the way. Reads one file
/// for each process of our user, and more only for those that carry a mark or a launcher's
/// variables, or were killed and are still there. Blocks for `watch` where there is a rank without
/// a launcher. Ends nothing.
[[nodiscard]] std::vector<StaleProcess> survey(const Needs& needs, const Surroundings& us);

/// Files as jobs leave them, whoever uses them: segments of /dev/shm, and torch's locks.
struct FoundFiles {
  std::vector<host::LeftFile> segments;
  std::vector<host::LeftFile> locks;
  std::vector<std::filesystem::path> runs;  ///< places of runs, whose records tell whose they are
};

/// Those of them that are left over.
struct StaleFiles {
  std::vector<StaleFile> segments;
  std::vector<StaleFile> locks;
};

/// Says which of the files are stale. Looks at processes only where there is a file that may be.
/// Removes nothing.
[[nodiscard]] StaleFiles survey_files(FoundFiles found, const host::HostIdentity& host,
                                      std::span<const host::Mount> mounts);

}  // namespace safelaunch::clean
