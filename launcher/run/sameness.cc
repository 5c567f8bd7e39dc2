#include "safelaunch/run/sameness.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/profile/variables.h"

namespace safelaunch {
namespace {

/// The first NCCL that reads the variable; nullopt for one that the job's own reads.
std::optional<NcclVersion> too_new(const std::string& name, std::optional<NcclVersion> nccl) {
  if (!nccl || !name.starts_with("NCCL_")) return std::nullopt;
  const auto truth = truth_about(name);
  const auto since = truth ? parse_nccl_version(truth->since) : std::nullopt;
  return since && *nccl < *since ? since : std::nullopt;
}

/// What a job under a profile finds.
struct Found {
  Environment environment;  ///< without what its NCCL does not know
  std::string why;          ///< what the profile wants in vain
};

Found found_under(const Profile& profile, const RunPlan& plan, std::optional<NcclVersion> nccl) {
  AppliedEnvironment applied =
      apply_profile(profile, plan.environment, plan.configuration.rules.variables, plan.overrides);
  Found found{std::move(applied.environment), ""};
  for (const Difference& difference : applied.differences) {
    const std::string& name = difference.name;
    if (difference.winner == Winner::user)
      found.why = fmt::format("your {}={} stays", name, difference.after.value_or(""));
    if (difference.winner != Winner::profile) continue;
    if (const auto since = too_new(name, nccl)) {
      found.environment.erase(name);
      found.why = fmt::format("NCCL {} does not know {} (from {} on)", to_string(*nccl), name,
                              truth_about(name)->since);
    }
  }
  return found;
}

/// All but the environment by which a profile makes an attempt another one.
bool same_otherwise(const Profile& a, const Profile& b) {
  return a.backend == b.backend && a.verify == b.verify && a.args == b.args &&
         a.processes == b.processes && a.process_group_timeout == b.process_group_timeout &&
         a.timeouts == b.timeouts && a.options == b.options;
}

}  // namespace

std::vector<StruckOut> same_as_tried(const RunPlan& plan, std::span<const Profile* const> tried,
                                     std::span<const Profile* const> candidates,
                                     std::optional<NcclVersion> nccl) {
  std::vector<StruckOut> result;
  for (const Profile* candidate : candidates) {
    const Found found = found_under(*candidate, plan, nccl);
    const auto same = std::ranges::find_if(tried, [&](const Profile* one) {
      return one->name != candidate->name && same_otherwise(*one, *candidate) &&
             found_under(*one, plan, nccl).environment == found.environment;
    });
    if (same == tried.end()) continue;
    const std::string why = found.why.empty() ? "" : ": " + found.why;
    result.push_back({candidate->name, fmt::format("would be {} again{}", (*same)->name, why)});
  }
  return result;
}

}  // namespace safelaunch
