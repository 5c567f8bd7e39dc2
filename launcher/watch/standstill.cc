#include "safelaunch/watch/standstill.h"

#include <algorithm>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"

namespace safelaunch {
namespace {

// More places would not fit on a line.
constexpr std::size_t kMostPlaces = 3;

std::string words_of(const RankPlace& place) {
  if (place.where.empty()) return place.doing;
  if (place.doing.empty()) return "in " + place.where;
  return fmt::format("in {} ({})", place.where, place.doing);
}

}  // namespace

std::optional<TimePoint> Standstill::next_look() const {
  if (patience_ == Duration::zero()) return std::nullopt;
  return looked_at_ + interval_;
}

std::optional<Duration> Standstill::on_look(bool all_still, TimePoint now) {
  const TimePoint before = std::exchange(looked_at_, now);
  if (!all_still) {
    still_since_.reset();
    tells_after_ = patience_;
    interval_ = std::min(2 * interval_, 4 * patience_);
    return std::nullopt;
  }
  if (!still_since_) still_since_ = before;
  interval_ = patience_ / 4;
  const auto still_for = std::chrono::duration_cast<Duration>(now - *still_since_);
  if (still_for < tells_after_) return std::nullopt;
  tells_after_ = 2 * still_for;
  interval_ = still_for;  // with the next line: it has been told, and nobody is in a hurry
  return still_for;
}

std::string describe_standstill(Duration still_for, const std::vector<RankPlace>& ranks) {
  std::vector<AlikeRanks> places;
  for (const RankPlace& one : ranks) add_alike(places, one.rank, words_of(one));
  std::string text =
      fmt::format("no rank has used a CPU or files for {}, and none waits for another",
                  format_duration(std::chrono::duration_cast<Duration>(
                      std::chrono::duration_cast<std::chrono::seconds>(still_for))));
  const std::size_t shown = std::min(places.size(), kMostPlaces);
  for (std::size_t i = 0; i < shown; ++i)
    text +=
        fmt::format("{} {} {}", i == 0 ? ":" : ",", rank_list(places[i].ranks), places[i].words);
  if (shown < places.size()) text += fmt::format(" and {} more places", places.size() - shown);
  return text;
}

}  // namespace safelaunch
