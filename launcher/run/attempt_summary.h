#pragma once

#include "attempt_record.h"
#include "safelaunch/plan/plan.h"
#include "safelaunch/report/summary.h"

namespace safelaunch::run {

/// An attempt that is over, and under which profile it ran.
struct FinishedAttempt {
  int number = 1;
  std::string profile;
  const AttemptRecord& record;
};

/// The report's summary of an attempt that went well.
[[nodiscard]] report::AttemptSummary summary_of(const FinishedAttempt& attempt);

/// The report's summary of an attempt that was ended before it had failed. `why` may be empty.
[[nodiscard]] report::AttemptSummary summary_of_given_up(const FinishedAttempt& attempt,
                                                         const std::string& why);

/// The report's summary of a failed attempt, with its cause; a signal that ended it is the cause.
[[nodiscard]] report::AttemptSummary summary_of(const FinishedAttempt& attempt,
                                                const diagnose::Diagnosis& diagnosis,
                                                const plan::RunPlan& plan);

/// A single process that fails has told why, and its words stand last on the screen.
[[nodiscard]] bool speaks_for_itself(const plan::RunPlan& plan, const AttemptRecord& record,
                                     const diagnose::Diagnosis& diagnosis);

}  // namespace safelaunch::run
