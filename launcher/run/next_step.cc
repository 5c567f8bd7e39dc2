#include "safelaunch/run/next_step.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/run/sameness.h"

namespace safelaunch {
namespace {

NextStep stop(std::string why) {
  NextStep step;
  step.why = std::move(why);
  return step;
}

NextStep same_again(const RetrySame& retry, const RunProgress& progress) {
  NextStep step;
  step.profile = progress.last;
  step.wait = retry.backoff;
  step.other_port = retry.with == RetrySame::With::another_port;
  step.why = step.other_port ? "the same settings on another port"
                             : "the same settings, since this passes by itself";
  return step;
}

std::vector<StruckOut> hopeless(const RunPlan& plan, const RunProgress& progress) {
  std::vector<const Profile*> tried;
  std::vector<const Profile*> others;
  for (const std::span<const Profile> profiles : {std::span(plan.chain), progress.known})
    for (const Profile& profile : profiles) {
      const bool was = std::ranges::find(progress.tried, profile.name) != progress.tried.end();
      (was ? tried : others).push_back(&profile);
    }
  return same_as_tried(plan, tried, others, progress.nccl);
}

NextStep fall_back(const RunPlan& plan, const Diagnosis& diagnosis, const RunProgress& progress) {
  if (plan.options.only) return stop("--only: the first profile alone is tried");
  if (progress.attempts >= plan.max_attempts)
    return stop(fmt::format("{} attempt{} were made", progress.attempts,
                            progress.attempts == 1 ? "" : "s"));
  ChainState state;
  state.chain = plan.chain;
  state.known = progress.known;
  state.tried = progress.tried;
  state.cause = diagnosis.cause;
  state.nodes = plan.nodes();
  state.slow = plan.options.fail_on_slow ? SlowProfiles::refuse : SlowProfiles::allow;
  const std::vector<StruckOut> struck = hopeless(plan, progress);
  state.hopeless = struck;
  NextProfile next = next_profile(state);
  NextStep step;
  step.profile = next.profile;
  step.why = next.profile != nullptr ? std::move(next.why) : "every profile of the chain was tried";
  step.struck_out = std::move(next.struck_out);
  return step;
}

}  // namespace

NextStep next_step(const RunPlan& plan, const Diagnosis& diagnosis, const RunProgress& progress) {
  if (const auto* stopped = std::get_if<Stop>(&diagnosis.decision))
    return stop(describe(stopped->reason));
  if (const auto* retry = std::get_if<RetrySame>(&diagnosis.decision))
    return same_again(*retry, progress);
  return fall_back(plan, diagnosis, progress);
}

}  // namespace safelaunch
