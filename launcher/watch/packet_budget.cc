#include "safelaunch/watch/packet_budget.h"

#include <algorithm>
#include <chrono>

namespace safelaunch::watch {

bool PacketBudget::take(TimePoint now) {
  const double passed = std::chrono::duration<double>(now - at_).count();
  left_ = std::min<double>(kAtOnce, left_ + passed * kASecond);
  at_ = now;
  if (left_ < 1) return false;
  left_ -= 1;
  return true;
}

}  // namespace safelaunch::watch
