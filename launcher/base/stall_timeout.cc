#include "safelaunch/base/stall_timeout.h"

namespace safelaunch {

Result<StallTimeout> parse_stall_timeout(std::string_view text) {
  if (text == kOwnPace) return StallTimeout{};
  const Result<Duration> after = parse_duration(text);
  if (after) return StallTimeout{*after};
  return Error{Errc::usage, after.error().message + ", or auto"};
}

std::string format_stall_timeout(const StallTimeout& timeout) {
  return timeout.after ? format_duration(*timeout.after) : std::string(kOwnPace);
}

}  // namespace safelaunch
