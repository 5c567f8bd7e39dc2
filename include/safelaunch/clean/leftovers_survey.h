#pragma once

#include <cstdint>
#include <filesystem>
#include <span>

#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/clean/stale_file.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/host/sockets.h"

namespace safelaunch::clean {

// A closer look at ranks without a launcher.

/// Adds to each rank's holdings the ports on which it listens and the GPUs that it has open.
void take_inventory(const std::vector<Candidate*>& ranks);

/// Looks twice at each rank and everything below it, `between` apart, and notes whether it works.
void watch_for_work(const std::vector<Candidate*>& ranks, Duration between);

/// Compares two looks. Any movement counts as work, however little: a training that waits for its
/// data must not be taken for a dead one.
[[nodiscard]] Work work_between(const host::TreeSample& before, const host::TreeSample& after,
                                std::span<const host::Socket> connections, bool has_gpu);

/// Something that a process holds and that another room has found out.
struct KnownHolding {
  int pid = 0;
  std::string what;  ///< "40960 MiB of GPU 0"
};

/// The GPUs that a run will use, each by the N of /dev/nvidiaN; nullopt where it may use any of
/// them, or where they are not known.
using NeededGpus = std::optional<std::vector<int>>;

/// The request to the survey.
struct Needs {
  std::vector<std::uint16_t> ports;  ///< ports that the coming run needs for itself
  NeededGpus gpus = std::vector<int>{};
  std::vector<KnownHolding> held = {};
  bool inventory = false;  ///< also list everything that a rank without a launcher holds
  Duration watch{};        ///< pause before a second look at such ranks; 0: no second look
};

/// Reads a list as in CUDA_VISIBLE_DEVICES: nullopt where a device is named other than by its
/// number. Of a list longer than `processes`, where that is known, only the first ones count.
[[nodiscard]] NeededGpus gpus_named(std::span<const std::string> devices,
                                    std::optional<int> processes);

/// Reads the facts of our own process that the decision needs.
[[nodiscard]] Surroundings read_surroundings(std::vector<std::filesystem::path> runs = {});

/// Looks through the processes of this host and lists those that are stale or in the way. Reads one
/// file for each process of our user; more only for those that carry a mark or a launcher's
/// variables, or were killed and are still there. Blocks for `watch` where there is a rank without
/// a launcher. Ends nothing.
[[nodiscard]] std::vector<StaleProcess> survey(const Needs& needs, const Surroundings& us);

/// Looks at the process that a person names by its pid, and at everything below it, for the time of
/// `needs.watch`: what each holds, and the CPU that it used meanwhile; the named one comes first.
/// All of it is the person's to end (Claim::told). Errors: a process that is never ended in this
/// way, or has one below it (usage); a /proc that is not ours. Blocks for the watch. Ends nothing.
[[nodiscard]] Result<std::vector<StaleProcess>> survey_named(int pid, const Needs& needs,
                                                             const Surroundings& us);

/// The reason why a process is never ended by its pid, empty for any other: PID 1, a safelaunch, a
/// process above this one, and another user's unless root asks.
[[nodiscard]] std::string why_never_named(const host::ProcessFacts& process,
                                          const Surroundings& us);

/// Files of the kinds that jobs leave, in use or not: segments of /dev/shm, and torch's locks.
struct FoundFiles {
  std::vector<host::LeftFile> segments;
  std::vector<host::LeftFile> locks;
  /// Places of runs, whose records tell which files are theirs.
  std::vector<std::filesystem::path> runs;
};

/// The files among them that are left over.
struct StaleFiles {
  std::vector<StaleFile> segments;
  std::vector<StaleFile> locks;
};

/// Picks the stale files. Looks at processes only where some file may be stale. Removes nothing.
[[nodiscard]] StaleFiles survey_files(FoundFiles found, const host::HostIdentity& host,
                                      std::span<const host::Mount> mounts);

}  // namespace safelaunch::clean
