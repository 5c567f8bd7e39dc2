#pragma once

#include <span>

#include "safelaunch/base/result.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/host/left_files.h"
#include "safelaunch/host/mounts.h"

/// Decides which files are left over from an earlier run, and which of them we may remove. The
/// rules stand in launcher/clean/stale_file.cc, in the order in which they are asked.
namespace safelaunch::clean {

/// A file of ours that nobody uses.
struct StaleFile {
  host::LeftFile file;
  Claim claim = Claim::unproven;  ///< how strong our claim is; a file with `ours` may be removed
  std::string why;  ///< the grounds of the claim, or the proof that is missing for one
  bool operator==(const StaleFile&) const = default;
};

/// The view of the process that looked: a file is only unused if every process that could use it
/// was seen.
struct FileWitness {
  unsigned uid = 0;
  bool sees_all_processes = false;  ///< no process is hidden by a container
  host::FileUse use;
};

/// A younger file may belong to a process that is about to open it, or to a build.
inline constexpr Duration kFileSettled = std::chrono::minutes(10);

/// Picks the segments in /dev/shm that a job left behind. One is ours where a run that has ended
/// has recorded that its processes made it.
[[nodiscard]] std::vector<StaleFile> stale_segments(std::span<const host::LeftFile> files,
                                                    const FileWitness& witness,
                                                    std::span<const host::SegmentRecord> records);

/// Picks the locks of torch's extensions whose build is gone: every job that needs the extension
/// waits for such a lock for ever.
[[nodiscard]] std::vector<StaleFile> stale_locks(std::span<const host::LeftFile> locks,
                                                 const FileWitness& witness,
                                                 std::span<const host::Mount> mounts);

/// Removes the file if it is still the one that was looked at, was not written since, and is open
/// in no process. Otherwise the error tells in a few words what became of it.
[[nodiscard]] Result<void> remove_stale(const StaleFile& stale);

/// "/dev/shm/nccl-vR6Fzi (9.2 MiB): written 3h ago, and nobody has it open".
[[nodiscard]] std::string describe(const StaleFile& stale);

}  // namespace safelaunch::clean
