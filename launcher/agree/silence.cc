#include "silence.h"

#include <algorithm>

namespace safelaunch::agree {

void Silence::look(TimePoint began, TimePoint ended, const std::map<int, std::string>& signs) {
  const Clock::duration gap = began - last_;
  for (const auto& [seat, text] : signs) {
    const auto known = seats_.find(seat);
    if (known == seats_.end()) {
      seats_[seat] = {text, {}};
    } else if (known->second.text != text) {
      known->second = {text, {}};
      heard_any_ = true;
    } else {
      known->second.silent += std::clamp<Clock::duration>(gap, {}, most_of_a_gap_);
    }
  }
  last_ = ended;
}

Clock::duration Silence::of(int seat) const {
  const auto known = seats_.find(seat);
  return known == seats_.end() ? Clock::duration{} : known->second.silent;
}

}  // namespace safelaunch::agree
