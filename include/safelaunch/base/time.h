#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "safelaunch/base/result.h"

namespace safelaunch {

/// The clock of all deadlines is monotonic (CLOCK_MONOTONIC): a wall clock that jumps ends no job.
using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Duration = std::chrono::milliseconds;

/// Reads "180s", "30min", "500ms", "2h", "1.5min", "1h30min" or a bare number of seconds; "0" and
/// "off" are zero, which switches a deadline off. The error names the wrong word and the units
/// there are.
[[nodiscard]] Result<Duration> parse_duration(std::string_view text);

/// "180s", "30min", "1h30min", "0.4s": the shortest form that reads back as the same value.
[[nodiscard]] std::string format_duration(Duration duration);

/// How long something took, as a person says it: "0.4s", "6.9s", "12s", "3min", "1h10min".
[[nodiscard]] std::string describe_duration(Duration duration);

/// A time of the record as the clocks of this host's zone show it: "2026-11-21T15:06:53.722Z" →
/// "2026-11-21 16:06:53 CET (UTC+01:00)". What has another form stays as it is.
[[nodiscard]] std::string local_time(const std::string& iso);

/// "3h", "12min", "2 days": an age as a person says it, in its largest unit.
[[nodiscard]] std::string rough_age(Duration age);

/// Wall-clock time as ISO 8601 in UTC with milliseconds, for the record.
[[nodiscard]] std::string wall_time_now();

}  // namespace safelaunch
