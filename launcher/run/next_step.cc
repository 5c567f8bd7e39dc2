#include "next_step.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "sameness.h"

namespace safelaunch::run {
namespace {

NextStep stop(std::string why) {
  NextStep step;
  step.why = std::move(why);
  return step;
}

NextStep used_up(const RunProgress& progress) {
  const bool one = progress.attempts == 1;
  return stop(fmt::format("{} attempt{} made", progress.attempts, one ? " was" : "s were"));
}

NextStep same_again(const RunPlan& plan, const diagnose::RetrySame& retry,
                    const RunProgress& progress) {
  const bool on_another_port = retry.with == diagnose::RetrySame::With::another_port;
  if (plan.options.only && !on_another_port) return stop("--only: one attempt is made");
  if (plan.options.max_attempts && progress.attempts >= *plan.options.max_attempts)
    return used_up(progress);
  NextStep step;
  step.profile = progress.last;
  step.wait = retry.backoff;
  step.other_port = on_another_port;
  step.why = step.other_port ? "the same settings on another port"
                             : "the same settings, since this passes by itself";
  return step;
}

std::vector<profile::StruckOut> hopeless(const RunPlan& plan, const RunProgress& progress) {
  std::vector<const profile::Profile*> tried;
  std::vector<const profile::Profile*> others;
  for (const std::span<const profile::Profile> profiles : {std::span(plan.chain), progress.known})
    for (const profile::Profile& profile : profiles) {
      const bool was = std::ranges::find(progress.tried, profile.name) != progress.tried.end();
      (was ? tried : others).push_back(&profile);
    }
  return same_as_tried(plan, tried, others, progress.seen);
}

// Every node must run the same profile, and nobody here can tell the others.
std::string without_the_others(const RunPlan& plan) {
  const std::string whose = plan.nodes() > 1 ? fmt::format("a job of {} nodes", plan.nodes())
                                             : std::string("a job whose other ranks others start");
  return "one node alone cannot start " + whose + " again";
}

NextStep fall_back(const RunPlan& plan, const diagnose::Diagnosis& diagnosis,
                   const RunProgress& progress) {
  if (plan.others_start_ranks()) return stop(without_the_others(plan));
  if (plan.options.only) return stop("--only: the first profile alone is tried");
  if (progress.attempts >= plan.max_attempts) return used_up(progress);
  profile::ChainState state;
  state.chain = plan.chain;
  state.known = progress.known;
  state.tried = progress.tried;
  state.cause = diagnosis.failure.cause;
  state.nodes = plan.nodes();
  state.slow =
      plan.options.fail_on_slow ? profile::SlowProfiles::refuse : profile::SlowProfiles::allow;
  const std::vector<profile::StruckOut> struck = hopeless(plan, progress);
  state.hopeless = struck;
  profile::NextProfile next = profile::next_profile(state);
  NextStep step;
  if (next.profile != nullptr) step.profile = *next.profile;
  step.struck_out = std::move(next.struck_out);
  if (step.profile)
    step.why = std::move(next.why);
  else
    step.why = step.struck_out.empty() ? "every profile of the chain was tried"
                                       : "no profile is left that could change anything";
  return step;
}

}  // namespace

NextStep next_step(const RunPlan& plan, const diagnose::Diagnosis& diagnosis,
                   const RunProgress& progress) {
  if (const auto* stopped = std::get_if<diagnose::Stop>(&diagnosis.decision))
    return stop(describe(stopped->reason));
  if (progress.impasse &&
      std::ranges::find(progress.former, *progress.impasse) != progress.former.end())
    return stop(describe_again(*progress.impasse) + ", where no profile changes anything");
  if (const auto* retry = std::get_if<diagnose::RetrySame>(&diagnosis.decision))
    return same_again(plan, *retry, progress);
  return fall_back(plan, diagnosis, progress);
}

}  // namespace safelaunch::run
