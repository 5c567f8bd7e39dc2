#include "safelaunch/ranks/straggler_watch.h"

#include "safelaunch/ranks/straggler.h"

namespace safelaunch::ranks {
namespace {

// A rank that stays slow for days has some lines a day.
constexpr Duration kAgain = std::chrono::minutes(10);

}  // namespace

void StragglerWatch::counted(Rank rank, std::int64_t collectives) {
  moved_ |= std::exchange(finished_[rank], collectives) != collectives;
}

void StragglerWatch::begin(int question, std::set<Rank> asked) {
  moved_ = false;
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
  const auto found = find_straggler(arrivals_);
  const TimePoint now = Clock::now();
  const bool same = found && told_ && found->rank == told_->rank && found->where == told_->where;
  if (!found && !told_) return;
  if (same && now - told_at_ < kAgain) return;
  log_.record_some(found.value_or(report::record::Straggler{}));
  told_ = found;
  told_at_ = now;
}

}  // namespace safelaunch::ranks
