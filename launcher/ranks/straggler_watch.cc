#include "safelaunch/ranks/straggler_watch.h"

#include "safelaunch/ranks/straggler.h"

namespace safelaunch::ranks {
namespace {

// A rank that stays slow for a month has four thousand lines.
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
  const auto found = find_straggler(arrivals_).value_or(report::record::Straggler{});
  const TimePoint now = Clock::now();
  if (found.rank == told_ && (told_ < 0 || now - told_at_ < kAgain)) return;
  log_.record(found);
  told_ = found.rank;
  told_at_ = now;
}

}  // namespace safelaunch::ranks
