#pragma once

#include <optional>
#include <string>
#include <vector>

#include "impasse.h"
#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/profile/chain.h"
#include "safelaunch/run/plan.h"
#include "seen_of_job.h"

namespace safelaunch::run {

/// What to do after a failed attempt. A plain value.
struct NextStep {
  std::optional<profile::Profile> profile;  ///< to try now; none: no further attempt
  Duration wait{};                          ///< first
  bool other_port = false;                  ///< the same profile on another port
  std::string why;  ///< "heals shm-small", "the port was taken meanwhile"; or why not
  std::vector<profile::StruckOut> struck_out;
};

/// How far the run has come.
struct RunProgress {
  int attempts = 0;
  profile::Profile last;  ///< tried
  std::vector<std::string> tried;
  std::span<const profile::Profile>
      known;  ///< all profiles there are, for healers outside the chain
  SeenOfJob seen;
  std::optional<Impasse> impasse;  ///< of the last attempt
  std::vector<Impasse> former;     ///< of those before it
};

/// Chooses the next step from the diagnosis; pure.
[[nodiscard]] NextStep next_step(const RunPlan& plan, const diagnose::Diagnosis& diagnosis,
                                 const RunProgress& progress);

}  // namespace safelaunch::run
