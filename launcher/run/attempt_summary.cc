#include "attempt_summary.h"

#include <algorithm>

// The report's line of an attempt, and whether the job's own words say as much.
namespace safelaunch::run {
namespace {

constexpr std::size_t kLinesShown = 3;

std::vector<std::string> lines_that_show(const diagnose::Diagnosis& diagnosis) {
  std::vector<std::string> lines;
  for (const diagnose::Sighting& sighting : diagnosis.shown_by) {
    if (lines.size() == kLinesShown) break;
    // The complaints of other ranks about one that has gone do not show why it went.
    if (sighting.cause->kind == diagnose::Kind::victim &&
        sighting.cause->id != diagnosis.failure.cause)
      continue;
    const bool told = std::ranges::find(lines, sighting.line) != lines.end();
    if (!told) lines.push_back(sighting.line);  // the hook and stderr often say the same
  }
  return lines;
}

// An attempt that a signal ended has no other cause.
Failure failure_of(const AttemptRecord& record, const diagnose::Diagnosis& diagnosis) {
  if (record.signal) return {.kind = FailureKind::interrupted};
  Failure failure = diagnosis.failure;
  failure.lines = lines_that_show(diagnosis);
  if (record.gave_way) failure.kind = FailureKind::given_up;
  return failure;
}

}  // namespace

report::AttemptSummary summary_of(const FinishedAttempt& attempt) {
  report::AttemptSummary summary;
  summary.number = attempt.number;
  summary.profile = attempt.profile;
  summary.took = attempt.record.took;
  summary.stages = attempt.record.stages;
  return summary;
}

report::AttemptSummary summary_of_given_up(const FinishedAttempt& attempt, const std::string& why) {
  report::AttemptSummary summary = summary_of(attempt);
  summary.failure = Failure{.kind = FailureKind::given_up};
  summary.failure->explanation = why;
  return summary;
}

report::AttemptSummary summary_of(const FinishedAttempt& attempt,
                                  const diagnose::Diagnosis& diagnosis, const plan::RunPlan& plan) {
  report::AttemptSummary summary = summary_of(attempt);
  summary.failure = failure_of(attempt.record, diagnosis);
  summary.told_by_itself =
      !attempt.record.gave_way && speaks_for_itself(plan, attempt.record, diagnosis);
  return summary;
}

bool speaks_for_itself(const plan::RunPlan& plan, const AttemptRecord& record,
                       const diagnose::Diagnosis& diagnosis) {
  const job::Launcher launcher = plan.command.launcher;
  const bool buried =
      !plan.spawn && launcher != job::Launcher::python && launcher != job::Launcher::opaque;
  const bool single = record.ranks.world_size <= 1;
  return single && !buried && std::holds_alternative<diagnose::Stop>(diagnosis.decision) &&
         (diagnose::is_users_own(diagnosis.failure.cause) ||
          diagnosis.failure.certainty == Certainty::guess);
}

}  // namespace safelaunch::run
