#pragma once

#include "attempt_record.h"
#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/report/summary.h"
#include "safelaunch/run/plan.h"

namespace safelaunch::run {

/// An attempt that is over, and under which profile it ran.
struct FinishedAttempt {
  int number = 1;
  std::string profile;
  const AttemptRecord& record;
};

/// What the report tells of an attempt that went well.
[[nodiscard]] report::AttemptSummary summary_of(const FinishedAttempt& attempt);

/// The same of one that failed, with its cause; one that a signal ended has no other cause.
[[nodiscard]] report::AttemptSummary summary_of(const FinishedAttempt& attempt,
                                                const diagnose::Diagnosis& diagnosis,
                                                const RunPlan& plan);

/// A single process that fails has told why, and its words stand last on the screen.
[[nodiscard]] bool speaks_for_itself(const RunPlan& plan, const AttemptRecord& record,
                                     const diagnose::Diagnosis& diagnosis);

}  // namespace safelaunch::run
