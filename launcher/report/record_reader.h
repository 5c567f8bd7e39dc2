#pragma once

#include <string_view>

#include "safelaunch/report/run_record.h"

namespace safelaunch::report {

/// Reads events.jsonl into the record, whatever its lines are.
void read_events(std::string_view text, RunRecord& run);

/// The attempt of this number, made with those before it where there was none; nullptr for a number
/// that none of ours has.
[[nodiscard]] AttemptHistory* attempt_of(RunRecord& run, int number);

}  // namespace safelaunch::report
