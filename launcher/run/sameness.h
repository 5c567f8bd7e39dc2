#pragma once

#include <span>
#include <string>
#include <vector>

#include "safelaunch/profile/chain.h"
#include "safelaunch/run/plan.h"
#include "seen_of_job.h"

namespace safelaunch::run {

/// Of the candidates, those under which the job would find just what it found under a profile that
/// was tried in vain, and why: the user's own value of a variable stays, the job's NCCL does not
/// know the variable yet, the job has no use for NCCL, or is on gloo already. An attempt under one
/// would be lost time. Pure.
///
/// Profiles that --profile names are there for what the user knows: his script may read a variable
/// of NCCL by itself. Of them only those are struck out that are another's very copy.
[[nodiscard]] std::vector<profile::StruckOut> same_as_tried(
    const RunPlan& plan, std::span<const profile::Profile* const> tried,
    std::span<const profile::Profile* const> candidates, const SeenOfJob& seen);

}  // namespace safelaunch::run
