#include "safelaunch/ranks/straggler_watch.h"

#include <algorithm>
#include <limits>

namespace safelaunch::ranks {
namespace {

// A rank that stays slow for days has some lines a day.
constexpr Duration kAgain = std::chrono::minutes(10);

int as_int(std::chrono::microseconds time) {
  constexpr std::chrono::microseconds kMost{std::numeric_limits<int>::max()};
  return static_cast<int>(std::min(time, kMost).count());
}

report::record::Straggler event_of(const watch::Straggler& one) {
  return {.rank = one.rank.value,
          .last = one.last,
          .of = one.of,
          .behind_us = as_int(one.behind),
          .waited = one.waited_percent,
          .where = one.where,
          .seen = one.seen,
          .looks = one.looks};
}

}  // namespace

void StragglerWatch::begin(int question, std::set<Rank> asked) {
  question_ = question;
  asked_ = std::move(asked);
  arrivals_.clear();
}

void StragglerWatch::answered(Rank rank, const watch::ArrivalsAnswer& answer) {
  if (answer.id != question_ || asked_.erase(rank) == 0) return;
  arrivals_[rank] = answer.arrivals;
  if (asked_.empty()) compare();
}

void StragglerWatch::compare() {
  const auto found = watch::find_straggler(arrivals_);
  const TimePoint now = Clock::now();
  const bool same = found && told_ && found->rank == told_->rank && found->where == told_->where;
  if (!found && !told_) return;
  if (same && now - told_at_ < kAgain) return;
  log_.record_some(found ? event_of(*found) : report::record::Straggler{});
  told_ = found;
  told_at_ = now;
}

}  // namespace safelaunch::ranks
