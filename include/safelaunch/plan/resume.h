#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "safelaunch/plan/next_step.h"

namespace safelaunch::plan {

/// The job's own checkpoints ("ckpt/step40.pt"), and when anything was last written into each, by
/// the clock of its file system.
using Checkpoints = std::map<std::string, std::filesystem::file_time_type>;

/// The files and folders that the pattern (glob(7)) finds; a folder is as new as the newest file
/// below it. Empty files, and what cannot be read, do not count. May wait for a dead file server.
[[nodiscard]] Checkpoints find_checkpoints(const std::string& pattern);

/// Two looks at the checkpoints.
struct CheckpointsSeen {
  Checkpoints before;  ///< when the attempt was started
  Checkpoints now;
  std::filesystem::file_time_type at;  ///< the time of the second look, by our clock
};

/// What is looked for.
[[nodiscard]] const std::string& pattern_of(const profile::Resume& resume);

/// A training that has failed, and what it has left behind. Times are counted back from now.
struct FailedTraining {
  Duration failed{};                           ///< since it stood still, or its first rank died
  std::optional<CheckpointsSeen> checkpoints;  ///< none: their disk does not answer
  /// Starts from the checkpoint before; none: no attempt was started from one yet.
  std::optional<int> starts;
  /// How old a checkpoint must be for the other nodes to see it; the start waits for that.
  Duration others_see_after{};
};

/// Whether, and why, the job is started again from its newest checkpoint; pure. One must be new, or
/// the attempt must itself have begun from one; and it must have lain
/// untouched when the training failed, since one that was being written may be cut off; a marker
/// need not.
[[nodiscard]] NextStep resume_step(const profile::Profile& profile, const profile::Resume& resume,
                                   const FailedTraining& training);

/// Whether, and when, the job is started again as it was started first, after `retries` such
/// starts; pure. The profile must say how.
[[nodiscard]] NextStep retry_step(const profile::Profile& profile, int retries);

/// Whether a checkpoint was written since the attempt began: one that was not there, or with
/// another date. Whether dates lie ahead of our clock, as a file server's may, does not count.
[[nodiscard]] bool has_new_checkpoint(const FailedTraining& training);

/// The profile whose script goes on from a checkpoint.
[[nodiscard]] profile::Profile resumed(profile::Profile profile, const profile::Resume& resume);

/// The profile of a later attempt with what the first one says of training (`timeouts.stall`,
/// `on_stall`, `resume`, `restarts`, `retry`), unless any of these is another than by default: what
/// heals a start knows nothing of the training behind it.
[[nodiscard]] profile::Profile with_training_of(const profile::Profile& first,
                                                profile::Profile later);

}  // namespace safelaunch::plan
