#pragma once

#include "safelaunch/base/result.h"
#include "safelaunch/plan/next_step.h"
#include "safelaunch/plan/plan.h"

namespace safelaunch::run {

/// A run as `--dry-run` shows it. Each attempt is settled by the function that settles it in a run,
/// so the words that are shown are those that would be executed. Words in angle brackets stand for
/// names that each run makes up anew: "<run id>".
struct ShownPlan {
  std::string text;
  /// Why the run would start nothing: its port is pinned and held, its command does not exist.
  std::optional<Error> refusal;
};

/// The plan as a text for a reader. `seen` holds what is known before any rank has come: whether
/// this host has a GPU.
[[nodiscard]] ShownPlan render_plan(const plan::RunPlan& plan, const plan::SeenOfJob& seen);
[[nodiscard]] ShownPlan plan_json(const plan::RunPlan& plan, const plan::SeenOfJob& seen);

}  // namespace safelaunch::run
