#pragma once

#include "safelaunch/base/failure.h"
#include "safelaunch/run/rank_questions.h"
#include "safelaunch/watch/stall.h"

namespace safelaunch::run {

/// Puts a standstill of the training, and what its ranks answered then, into a verdict: who waits
/// in which collective, who never called it, and where each of those is in its code.
[[nodiscard]] Failure verdict_of(const watch::StallReport& report, const RankAnswers& answers);

}  // namespace safelaunch::run
