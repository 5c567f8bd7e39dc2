#include "safelaunch/host/clock.h"

#include <sys/timex.h>

#include <chrono>

namespace safelaunch::host {

ClockState clock_state(int state, const timex& answer) {
  if (state == TIME_ERROR || (answer.status & STA_UNSYNC) != 0) return {};
  return {true, std::chrono::ceil<Duration>(std::chrono::microseconds(answer.maxerror))};
}

std::optional<ClockState> read_clock_state() {
  timex answer{};
  const int state = ::adjtimex(&answer);
  if (state < 0) return std::nullopt;
  return clock_state(state, answer);
}

}  // namespace safelaunch::host
