#include "safelaunch/watch/hook_channel.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::watch;

namespace {

int taken(PacketBudget& budget, TimePoint now) {
  int count = 0;
  while (count < 1'000'000 && budget.take(now)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a connection may say much at once, and then so much a second", "[packet_budget]") {
  TimePoint now{};
  PacketBudget budget(now);
  CHECK(taken(budget, now) == PacketBudget::kAtOnce);
  now += std::chrono::milliseconds(100);
  CHECK(taken(budget, now) == PacketBudget::kASecond / 10);
  now += std::chrono::hours(1);
  CHECK(taken(budget, now) == PacketBudget::kAtOnce);
}
