#include "safelaunch/host/clock.h"

#include <sys/timex.h>

#include "catch.h"

using namespace safelaunch;
using namespace safelaunch::host;
using namespace std::chrono_literals;

TEST_CASE("a clock is kept where the kernel says so, and its error is told", "[clock]") {
  timex answer{};
  answer.maxerror = 12'345;  // microseconds
  CHECK(clock_state(TIME_OK, answer) == ClockState{true, 13ms});
  CHECK(clock_state(TIME_INS, answer).kept);  // a leap second comes
  CHECK(clock_state(TIME_ERROR, answer) == ClockState{});
  answer.status = STA_UNSYNC;
  CHECK(clock_state(TIME_OK, answer) == ClockState{});
}

TEST_CASE("the kernel tells of this host's clock", "[clock]") {
  CHECK(read_clock_state().has_value());
}
