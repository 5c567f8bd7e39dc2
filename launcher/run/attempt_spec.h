#pragma once

#include <cstddef>
#include <filesystem>

#include "attempt.h"
#include "attempt_machine.h"
#include "safelaunch/agree/decision.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/job/command.h"
#include "safelaunch/output/std_streams.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/profile/apply.h"
#include "safelaunch/settings/run_options.h"

namespace safelaunch::run {

/// The time of --grace; else 30 s, or the time that the user gave torchrun (`--shutdown-timeout`,
/// TORCH_ELASTIC_SHUTDOWN_TIMEOUT) if that is longer: a user who needs five minutes for a
/// checkpoint should have to say so only once.
[[nodiscard]] Grace grace_of(const settings::RunOptions& options, const job::Command& command,
                             const Environment& environment);

/// torchrun kills its workers after 30 s unless it is told another time: it gets ours, where the
/// user has told it none.
void pass_grace_on(const Grace& grace, Environment& environment);

/// How many bytes the kernel takes for a command's words and variables, as execve(2) tells it.
[[nodiscard]] std::size_t exec_limit();

/// Whether they fit, with room for what a script's first line adds.
[[nodiscard]] bool fits_exec(const std::vector<std::string>& argv, const Environment& environment,
                             std::size_t limit);

/// The facts that an attempt adds to the plan.
struct AttemptInputs {
  const plan::RunPlan& plan;
  const profile::Profile& profile;
  int number = 1;
  std::string run_id;
  std::filesystem::path directory;  ///< the folder of the attempt; empty where nothing is recorded
  std::optional<int> port;          ///< the port that was leased for the job
  /// Several nodes: their agreement, and whether another node's agent leads.
  std::optional<agree::Decision> agreed{};
  bool is_member = false;
  bool by_loopback = false;  ///< torchrun's ranks are told 127.0.0.1 in place of this host's name
  std::optional<ranks::HookDoor> hook;
  nccl::Door nccl;
  output::StandardStreams streams;
};

/// An attempt, ready to start, and how its environment differs from the user's.
struct SettledAttempt {
  AttemptSpec spec;
  std::vector<profile::Difference> differences;
  std::string notice;  ///< a line for the user, once a run; empty: none
};

/// Settles argv, environment, deadlines and output of one attempt. Errors: the profile asks for
/// what this command cannot have.
[[nodiscard]] Result<SettledAttempt> settle(const AttemptInputs& inputs);

}  // namespace safelaunch::run
