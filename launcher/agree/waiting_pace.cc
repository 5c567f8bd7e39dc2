#include "waiting_pace.h"

#include <algorithm>

namespace safelaunch::agree {
namespace {

constexpr Duration kFirstLine = std::chrono::seconds(5);
constexpr Duration kLongestBetween = std::chrono::minutes(5);

}  // namespace

void WaitingPace::begin(TimePoint now) {
  if (next_) return;
  pause_ = kFirstLine;
  next_ = now + with_jitter(pause_);
}

bool WaitingPace::is_time(TimePoint now) {
  if (!next_ || now < *next_) return false;
  pause_ = std::min(pause_ * 2, kLongestBetween);
  next_ = now + with_jitter(pause_);
  return true;
}

Duration WaitingPace::with_jitter(Duration pause) {
  seed_ = seed_ * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;  // Knuth's MMIX
  const auto tenth = static_cast<std::uint64_t>(pause.count()) / 10;
  return pause - Duration(tenth) + Duration((seed_ >> 33U) % (2 * tenth + 1));
}

}  // namespace safelaunch::agree
