#pragma once

#include <optional>

#include "attempt_record.h"
#include "safelaunch/diagnose/evidence.h"
#include "safelaunch/job/command.h"

namespace safelaunch::run {

/// What surrounds an attempt and bears on its diagnosis.
struct AttemptContext {
  job::Launcher launcher = job::Launcher::opaque;
  int nodes = 1;
  bool autotuning = false;
  std::optional<diagnose::RendezvousPort> port;
  std::vector<int> former_pids;
  int retries_of_profile = 0;
  std::optional<int> oom_kills;  ///< during the attempt
};

/// Whether an attempt ended well: the command with status 0 and no verdict against it.
[[nodiscard]] bool went_well(const AttemptRecord& record);

/// Puts the record of a failed attempt into the words of the diagnosis.
[[nodiscard]] diagnose::Evidence make_evidence(const AttemptRecord& record,
                                               const AttemptContext& context);

}  // namespace safelaunch::run
