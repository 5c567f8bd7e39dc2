#pragma once

#include <map>

#include "attempt_spec.h"
#include "safelaunch/base/result.h"
#include "safelaunch/plan/next_step.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/plan/port_choice.h"
#include "safelaunch/profile/chain.h"
#include "safelaunch/profile/profile.h"

namespace safelaunch::run {

/// A variable of the job that is not as the user has it, or that somebody wanted to differ.
struct SetVariable {
  std::optional<std::string> before;
  std::optional<std::string> after;
  std::string origin;   ///< "profile no-shm", "--set", "safelaunch reads NCCL's log"
  bool is_own = false;  ///< safelaunch's own business: it changes nothing that the job does
};

/// The variables of one worker, besides those of all workers.
struct WorkerVariables {
  Rank rank;
  std::map<std::string, std::string> variables;
};

/// One attempt as it would be started.
struct RehearsedAttempt {
  const profile::Profile* profile = nullptr;  ///< points into the plan
  AttemptSpec spec;
  std::string notice;
  std::map<std::string, SetVariable> variables;  ///< the variables that all workers have alike
  std::vector<WorkerVariables> workers;  ///< the workers of our own spawn, in the order of ranks
  std::optional<Error> refusal;          ///< why it cannot be started
  /// Why a run on this host passes it over. Another host, which has a GPU, may try it.
  std::string passed_over;
};

/// A run as it would be, as far as that can be known before it: nothing is made or started. A port
/// is looked for as a run does, and given back at once.
struct Rehearsal {
  /// The attempts in the order that holds where no cause is known.
  std::vector<RehearsedAttempt> attempts;
  /// The profiles of the chain that are never tried.
  std::vector<profile::StruckOut> left_out;
  std::vector<std::string> others;  ///< profiles that only a cause would put in their place
  int max_attempts = 1;
  std::optional<int> port;
  std::string port_notice;
  std::optional<Error> port_refusal;  ///< the port is pinned, and somebody holds it
  std::optional<Error> refusal;       ///< why the first attempt, and so the run, does not start
};

/// `seen` holds what is known before any rank has come: whether there is a GPU.
[[nodiscard]] Rehearsal rehearse(const plan::RunPlan& plan, const plan::SeenOfJob& seen);

}  // namespace safelaunch::run
