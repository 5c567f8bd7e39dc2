#pragma once

#include <string>

#include "safelaunch/base/failure.h"
#include "safelaunch/run/rank_questions.h"

namespace safelaunch::run {

/// "rank 0 has waited 12s in group for rank 1 (idling: sleeping in hrtimer_nanosleep), which is in
/// train.py:50 never_reaches_init": for whoever ends a job that waits.
[[nodiscard]] std::string who_waits_for_whom(const Failure& waiting, const RankAnswers& answers);

}  // namespace safelaunch::run
