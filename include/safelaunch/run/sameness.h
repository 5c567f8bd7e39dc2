#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "safelaunch/nccl/version.h"
#include "safelaunch/profile/chain.h"
#include "safelaunch/run/plan.h"

namespace safelaunch {

/// Of the candidates, those under which the job would find just what it found under a profile that
/// was tried in vain, and why: the user's own value of a variable stays, or the job's NCCL does not
/// know the variable yet. An attempt under one would be lost time. Pure.
/// `nccl`: the job's; nullopt where it is not known.
[[nodiscard]] std::vector<StruckOut> same_as_tried(const RunPlan& plan,
                                                   std::span<const Profile* const> tried,
                                                   std::span<const Profile* const> candidates,
                                                   std::optional<NcclVersion> nccl);

}  // namespace safelaunch
