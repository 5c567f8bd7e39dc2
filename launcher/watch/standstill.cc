#include "safelaunch/watch/standstill.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"

// The time of a standstill begins at the look before the first still one, the last moment when
// something may have moved. Looks come close while all are still and grow apart while the ranks
// work. Each limit moves on once it was told, so the next telling needs as much time again.
namespace safelaunch::watch {
namespace {

// The line names at most this many places.
constexpr std::size_t kMostPlaces = 3;

bool is_set(Duration limit) {
  return limit != Duration::zero();
}

// The nearer of two limits; a limit of 0 is off.
Duration shorter(Duration a, Duration b) {
  if (!is_set(a) || !is_set(b)) return std::max(a, b);
  return std::min(a, b);
}

std::string words_of(const RankPlace& place) {
  if (place.where.empty()) return place.doing;
  if (place.doing.empty()) return "in " + place.where;
  return fmt::format("in {} ({})", place.where, place.doing);
}

}  // namespace

Standstill::Standstill(const StandstillLimits& limits, TimePoint now)
    : limits_(limits),
      shortest_interval_(shorter(limits.told, limits.ends) / 4),
      interval_(shortest_interval_),
      told_after_(limits.told),
      ends_after_(limits.ends),
      looked_at_(clock_.read(now, std::nullopt)) {}

Duration Standstill::longest_interval() const {
  return shorter(4 * limits_.told, limits_.ends / 4);
}

std::optional<TimePoint> Standstill::next_look() const {
  if (shortest_interval_ == Duration::zero()) return std::nullopt;
  TimePoint next = looked_at_ + interval_;
  if (still_since_ && is_set(limits_.ends)) next = std::min(next, *still_since_ + ends_after_);
  return clock_.monotonic(next);
}

std::optional<StoodStill> Standstill::on_look(bool all_still, TimePoint monotonic) {
  const TimePoint before = looked_at_;
  looked_at_ = clock_.read(monotonic, next_look());
  if (!all_still) {
    still_since_.reset();
    told_after_ = limits_.told;
    ends_after_ = limits_.ends;
    interval_ = std::min(2 * interval_, longest_interval());
    return std::nullopt;
  }
  if (!still_since_) still_since_ = before;
  const auto lasts = std::chrono::duration_cast<Duration>(looked_at_ - *still_since_);
  interval_ = shortest_interval_;
  if (is_set(limits_.ends) && lasts >= ends_after_) {
    ends_after_ = lasts + limits_.ends;  // counts once the obstacle could be removed
    return StoodStill{lasts, StoodStill::Then::ends_the_job};
  }
  if (!is_set(limits_.told) || lasts < told_after_) return std::nullopt;
  told_after_ = 2 * lasts;
  interval_ = lasts;  // with the next line: it has been told, and nobody is in a hurry
  return StoodStill{lasts, StoodStill::Then::is_told};
}

std::string describe_standstill(Duration still_for, const std::vector<RankPlace>& ranks) {
  std::vector<AlikeRanks> places;
  for (const RankPlace& one : ranks) add_alike(places, one.rank, words_of(one));
  const std::string time = format_duration(std::chrono::floor<std::chrono::seconds>(still_for));
  std::string text =
      ranks.size() == 1
          ? fmt::format("the rank has stood still for {}", time)
          : fmt::format("all ranks have stood still for {}, and none waits for another", time);
  const std::size_t shown = std::min(places.size(), kMostPlaces);
  for (std::size_t i = 0; i < shown; ++i)
    text +=
        fmt::format("{} {} {}", i == 0 ? ":" : ",", rank_list(places[i].ranks), places[i].words);
  if (shown < places.size()) text += fmt::format(" and {} more places", places.size() - shown);
  return text;
}

}  // namespace safelaunch::watch
