#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "safelaunch/plan/next_step.h"

namespace safelaunch::plan {

/// The newest of the job's own checkpoints.
struct Checkpoint {
  std::string path;                           ///< as the pattern finds it: "ckpt/step40.pt"
  Duration age{};                             ///< since anything was last written into it
  std::filesystem::file_time_type written{};  ///< when that was, by the file system's own clock
};

/// Looks for the newest file, or folder, that the pattern (glob(7)) finds; a folder is as new as
/// the newest file below it. Empty files, and what cannot be read, do not count. May wait for a
/// dead file server.
[[nodiscard]] std::optional<Checkpoint> newest_checkpoint(const std::string& pattern);

/// What is looked for.
[[nodiscard]] const std::string& pattern_of(const profile::Resume& resume);

/// A training that has failed, and what it has left behind. Times are counted back from now.
struct FailedTraining {
  Duration failed{};  ///< since it stood still, or its first rank died
  std::optional<Checkpoint> newest;
  std::optional<Checkpoint> before;  ///< the newest when the attempt was started
  /// Starts from the checkpoint before; none: no attempt was started from one yet.
  std::optional<int> starts;
};

/// Whether, and why, the job is started again from its newest checkpoint; pure. It must be newer
/// than the one before, or the attempt must itself have begun from that; and it must have lain
/// untouched when the training failed, since one that was being written may be cut off; a marker
/// need not.
[[nodiscard]] NextStep resume_step(const profile::Profile& profile, const profile::Resume& resume,
                                   const FailedTraining& training);

/// Whether, and when, the job is started again as it was started first, after `retries` such
/// starts; pure. The profile must say how.
[[nodiscard]] NextStep retry_step(const profile::Profile& profile, int retries);

/// Whether a checkpoint was finished since the attempt began. No clock of ours is asked: that of a
/// file server may be another one.
[[nodiscard]] bool has_new_checkpoint(const FailedTraining& training);

/// The profile whose script goes on from a checkpoint.
[[nodiscard]] profile::Profile resumed(profile::Profile profile, const profile::Resume& resume);

}  // namespace safelaunch::plan
