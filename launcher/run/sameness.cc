#include "sameness.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/profile/variables.h"

namespace safelaunch::run {
namespace {

/// The first NCCL that reads the variable; nullopt for one that the job's own reads.
std::optional<nccl::Version> too_new(const std::string& name, std::optional<nccl::Version> nccl) {
  if (!nccl || !name.starts_with("NCCL_")) return std::nullopt;
  const auto truth = profile::truth_about(name);
  const auto since = truth ? nccl::parse_nccl_version(truth->since) : std::nullopt;
  return since && *nccl < *since ? since : std::nullopt;
}

bool is_of_nccl(std::string_view name) {
  return name.starts_with("NCCL_") || name.starts_with("TORCH_NCCL_") ||
         name == "TORCH_DIST_USE_NCCL2";
}

const char* why_without_nccl(const SeenOfJob& seen) {
  return seen.backends.empty() || !seen.gpu ? "nothing here reads NCCL's variables without a GPU"
                                            : "the job's backend reads no variable of NCCL";
}

/// What a job under a profile finds.
struct Found {
  Environment environment;  ///< without what its NCCL does not know
  profile::Backend backend = profile::Backend::keep;
  std::string why;  ///< what the profile wants in vain
};

Found found_under(const profile::Profile& profile, const RunPlan& plan, const SeenOfJob& seen) {
  profile::AppliedEnvironment applied = plan.environment_under(profile);
  Found found{std::move(applied.environment), profile.backend, ""};
  if (profile.backend == profile::Backend::gloo && !may_change_to_gloo(seen)) {
    found.backend = profile::Backend::keep;
    found.why = "the job does not ask for NCCL";
  }
  for (const profile::Difference& difference : applied.differences) {
    const std::string& name = difference.name;
    if (difference.winner == profile::Winner::user)
      found.why = fmt::format("your {}={} stays", name, difference.after.value_or(""));
    if (difference.winner != profile::Winner::profile) continue;
    if (is_of_nccl(name) && !may_use_nccl(seen)) {
      found.environment.erase(name);
      found.why = why_without_nccl(seen);
    } else if (const auto since = too_new(name, seen.nccl)) {
      found.environment.erase(name);
      found.why = fmt::format("NCCL {} does not know {} (from {} on)", to_string(*seen.nccl), name,
                              profile::truth_about(name)->since);
    }
  }
  return found;
}

/// All but environment and backend by which a profile makes an attempt another one.
bool same_otherwise(const profile::Profile& a, const profile::Profile& b) {
  return a.verify == b.verify && a.args == b.args && a.processes == b.processes &&
         a.process_group_timeout == b.process_group_timeout && a.timeouts == b.timeouts &&
         a.options == b.options;
}

bool finds_the_same(const Found& a, const Found& b) {
  return a.backend == b.backend && a.environment == b.environment;
}

bool is_named(const profile::Profile& profile, const RunPlan& plan) {
  return !plan.options.profiles.empty() &&
         std::ranges::find(plan.chain_names, profile.name) != plan.chain_names.end();
}

}  // namespace

std::vector<profile::StruckOut> same_as_tried(const RunPlan& plan,
                                              std::span<const profile::Profile* const> tried,
                                              std::span<const profile::Profile* const> candidates,
                                              const SeenOfJob& seen) {
  std::vector<profile::StruckOut> result;
  for (const profile::Profile* candidate : candidates) {
    const SeenOfJob counts = is_named(*candidate, plan) ? SeenOfJob{.nccl = seen.nccl} : seen;
    const Found found = found_under(*candidate, plan, counts);
    const auto same = std::ranges::find_if(tried, [&](const profile::Profile* one) {
      return one->name != candidate->name && same_otherwise(*one, *candidate) &&
             finds_the_same(found_under(*one, plan, counts), found);
    });
    if (same == tried.end()) continue;
    const std::string why = found.why.empty() ? "" : ": " + found.why;
    result.push_back({candidate->name, fmt::format("would be {} again{}", (*same)->name, why)});
  }
  return result;
}

}  // namespace safelaunch::run
