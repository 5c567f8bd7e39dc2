#include "safelaunch/run/attempt_summary.h"

#include <algorithm>

namespace safelaunch {
namespace {

constexpr std::size_t kLinesShown = 3;

std::vector<std::string> lines_that_show(const Diagnosis& diagnosis) {
  std::vector<std::string> lines;
  for (const Sighting& sighting : diagnosis.shown_by) {
    if (lines.size() == kLinesShown) break;
    // What the others say of a rank that has gone shows nothing of why it went.
    if (sighting.cause->kind == Kind::victim && sighting.cause->id != diagnosis.failure.cause)
      continue;
    const bool told = std::ranges::find(lines, sighting.line) != lines.end();
    if (!told) lines.push_back(sighting.line);  // the hook and stderr often say the same
  }
  return lines;
}

// One that a signal ended has no other cause.
Failure failure_of(const AttemptRecord& record, const Diagnosis& diagnosis) {
  if (record.signal) return {.kind = FailureKind::interrupted};
  Failure failure = diagnosis.failure;
  failure.lines = lines_that_show(diagnosis);
  if (record.gave_way) failure.kind = FailureKind::given_up;
  return failure;
}

}  // namespace

AttemptSummary summary_of(const FinishedAttempt& attempt) {
  AttemptSummary summary;
  summary.number = attempt.number;
  summary.profile = attempt.profile;
  summary.took = attempt.record.took;
  summary.stages = attempt.record.stages;
  return summary;
}

AttemptSummary summary_of(const FinishedAttempt& attempt, const Diagnosis& diagnosis,
                          const RunPlan& plan) {
  AttemptSummary summary = summary_of(attempt);
  summary.failure = failure_of(attempt.record, diagnosis);
  summary.told_by_itself =
      !attempt.record.gave_way && speaks_for_itself(plan, attempt.record, diagnosis);
  return summary;
}

bool speaks_for_itself(const RunPlan& plan, const AttemptRecord& record,
                       const Diagnosis& diagnosis) {
  const Launcher launcher = plan.command.launcher;
  const bool buried = !plan.spawn && launcher != Launcher::python && launcher != Launcher::opaque;
  const bool single = record.ranks.world_size <= 1;
  return single && !buried && std::holds_alternative<Stop>(diagnosis.decision) &&
         (is_users_own(diagnosis.failure.cause) || diagnosis.failure.certainty == Certainty::guess);
}

}  // namespace safelaunch
