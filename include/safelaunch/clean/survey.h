#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "safelaunch/clean/stale.h"
#include "safelaunch/clean/stale_file.h"

namespace safelaunch {

/// What a process was seen to hold by somebody else than the survey.
struct KnownHolding {
  int pid = 0;
  std::string what;  ///< "40960 MiB of GPU 0"
};

/// What the coming run needs for itself.
struct Needs {
  std::vector<std::uint16_t> ports;
  bool gpus = false;  ///< any /dev/nvidiaN
  std::vector<KnownHolding> held = {};
};

/// Ourselves, as the decision needs it.
[[nodiscard]] Surroundings read_surroundings();

/// Looks through the processes of this host and says what is stale or in the way. Reads one file
/// for each process of our user, and more only for those that carry a mark or a launcher's
/// variables, or were killed and are still there. Ends nothing.
[[nodiscard]] std::vector<StaleProcess> survey(const Needs& needs, const Surroundings& us);

/// Files as jobs leave them, whoever uses them: segments of /dev/shm, and torch's locks.
struct FoundFiles {
  std::vector<LeftFile> segments;
  std::vector<LeftFile> locks;
};

/// Those of them that are left over.
struct StaleFiles {
  std::vector<StaleFile> segments;
  std::vector<StaleFile> locks;
};

/// Says which of the files are stale. Looks at processes only where there is a file that may be.
/// Removes nothing.
[[nodiscard]] StaleFiles survey_files(FoundFiles found, const HostIdentity& host,
                                      std::span<const Mount> mounts);

}  // namespace safelaunch
