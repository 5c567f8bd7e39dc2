#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "safelaunch/base/time.h"

namespace safelaunch {

/// How long training may stand still before that is told: `--stall-timeout`, `timeouts.stall`.
struct StallTimeout {
  /// nullopt: the job's own pace says (`auto`, see watch/stall.h). Zero: it is never told.
  std::optional<Duration> after;

  [[nodiscard]] bool off() const { return after == Duration::zero(); }
  bool operator==(const StallTimeout&) const = default;
};

/// The word that a timeout may be, beside a duration.
inline constexpr std::string_view kOwnPace = "auto";

/// Reads "auto" or a duration; the error names the wrong word.
[[nodiscard]] Result<StallTimeout> parse_stall_timeout(std::string_view text);

/// The form that is read back.
[[nodiscard]] std::string format_stall_timeout(const StallTimeout& timeout);

}  // namespace safelaunch
