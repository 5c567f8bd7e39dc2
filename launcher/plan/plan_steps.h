#pragma once

#include "safelaunch/job/topology.h"
#include "safelaunch/plan/plan.h"

/// The steps of make_plan() that have sources of their own. Each adds to the plan.
namespace safelaunch::plan {

/// How many GPUs and CPUs this host has for the ranks. It asks the driver only where the number of
/// workers depends on that, which takes a process and up to a deadline.
[[nodiscard]] job::HostCounts host_counts(const RunPlan& plan);

/// Chooses the chain and the number of attempts, and reads as many profiles as must be read now.
/// Errors: a profile that is not there, or is wrong.
[[nodiscard]] Result<void> load_chain(RunPlan& plan);

/// Errors: two words of the command line that cannot both hold.
[[nodiscard]] Result<void> refuse_contradiction(const settings::RunOptions& options);

/// Adds warnings: variables that nobody reads, and mistakes in the command.
void warn_of_variables(RunPlan& plan);

/// Adds warnings: options that have no effect on this job.
void warn_of_options(RunPlan& plan);

/// Whether the launcher spawns ranks by itself, and has options of its own for that.
[[nodiscard]] bool spawns_by_itself(job::Launcher launcher);

}  // namespace safelaunch::plan
