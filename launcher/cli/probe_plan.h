#pragma once

#include <optional>
#include <string>
#include <vector>

#include "probe_text.h"
#include "safelaunch/base/environment.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/probe/session.h"
#include "safelaunch/profile/profile.h"
#include "verb_probe.h"

namespace safelaunch::cli {

/// All that is needed to probe a profile.
struct ProbePlan {
  ProbeOptions options;
  Environment environment;
  profile::Overrides config;
  profile::Overrides overrides;
  std::vector<profile::Profile> profiles;
  std::string program;
  ProbeGround ground;
  std::optional<plan::PartyPlan> party;  ///< set: several nodes
};

/// Reads what the words name. Errors: a wrong option, profile or place, or no probe program.
[[nodiscard]] Result<ProbePlan> make_probe_plan(ProbeOptions options);

/// Finds the libnccl; its survey, if it can be asked, is told whatever the driver does.
Result<void> find_nccl(ProbePlan& plan);

[[nodiscard]] probe::Limits limits_of(const ProbeOptions& options);
[[nodiscard]] Environment environment_under(const profile::Profile& profile, const ProbePlan& plan);
[[nodiscard]] std::vector<probe::Entrant> entrants_of(const ProbePlan& plan);
[[nodiscard]] probe::Spec spec_of(const ProbePlan& plan, const Environment& environment,
                                  const probe::Part& part = {});

/// The width of the table's first column.
[[nodiscard]] std::size_t longest_name(const std::vector<profile::Profile>& profiles);

}  // namespace safelaunch::cli
