#include "driver_doubt.h"

namespace safelaunch::run {

std::vector<Rank> DriverDoubt::suspects(TimePoint now) const {
  std::vector<Rank> ranks;
  for (const auto& [rank, since] : still_since_)
    if (now - since >= patience_) ranks.push_back(rank);
  return ranks;
}

void DriverDoubt::answered() {
  silences_ = 0;
  patience_ *= 2;
}

bool DriverDoubt::silent(const std::vector<Rank>& asked_for, TimePoint now) {
  return ++silences_ >= 2 && suspects(now) == asked_for;
}

}  // namespace safelaunch::run
