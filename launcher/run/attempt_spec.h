#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "attempt.h"
#include "safelaunch/output/std_streams.h"
#include "safelaunch/profile/apply.h"
#include "safelaunch/run/plan.h"

namespace safelaunch::run {

/// What an attempt adds to the plan.
struct AttemptInputs {
  const RunPlan& plan;
  const profile::Profile& profile;
  int number = 1;
  std::string run_id;
  std::filesystem::path directory;  ///< of the attempt; empty where nothing is recorded
  std::optional<int> port;          ///< that was leased for the job
  std::optional<HookDoor> hook;
  NcclDoor nccl;
  output::StandardStreams streams;
};

/// An attempt, ready to start, and how its environment differs from the user's.
struct SettledAttempt {
  AttemptSpec spec;
  std::vector<profile::Difference> differences;
  std::string notice;  ///< for the user, once a run; empty: none
};

/// Settles argv, environment, deadlines and output of one attempt. Errors: the profile asks for
/// what this command cannot have.
[[nodiscard]] Result<SettledAttempt> settle(const AttemptInputs& inputs);

}  // namespace safelaunch::run
