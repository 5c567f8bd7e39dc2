#include "safelaunch/ranks/straggler.h"

#include <algorithm>
#include <limits>
#include <set>
#include <vector>

// The recorders of the ranks are read one after the other, so each tells of another stretch of
// collectives: what counts are those that all have told.
namespace safelaunch::ranks {
namespace {

using report::record::Straggler;
using std::chrono::microseconds;
using watch::Arrival;
using watch::Arrivals;

constexpr int kFewestCollectives = 16;
constexpr int kFewestPercentLast = 75;
constexpr int kFewestPercentWaited = 5;
constexpr microseconds kShortestWait{1'000};
constexpr microseconds kLongestWait{std::numeric_limits<int>::max()};
constexpr int kPercent = 100;

using Meeting = std::map<Rank, microseconds>;         // when each rank came to a collective
using Number = std::pair<std::string, std::int64_t>;  // of a collective in its group

std::vector<Meeting> whole_meetings(const std::map<Rank, Arrivals>& ranks) {
  std::map<Number, Meeting> meetings;
  std::map<std::string, std::set<Rank>> members;
  for (const auto& [rank, arrivals] : ranks)
    for (const Arrival& one : arrivals.came) {
      meetings[{one.group, one.number}][rank] = one.at;
      members[one.group].insert(rank);
    }
  std::vector<Meeting> whole;
  for (auto& [number, meeting] : meetings)
    if (meeting.size() > 1 && meeting.size() == members[number.first].size())
      whole.push_back(std::move(meeting));
  return whole;
}

struct Late {
  Rank rank;
  microseconds behind;  // the last but one
};

Late last_of(const Meeting& meeting) {
  Late last{meeting.begin()->first, {}};
  microseconds latest = meeting.begin()->second;
  microseconds before = microseconds::min();
  for (auto one = std::next(meeting.begin()); one != meeting.end(); ++one) {
    before = std::max(before, std::min(latest, one->second));
    if (one->second <= latest) continue;
    latest = one->second;
    last.rank = one->first;
  }
  last.behind = latest - before;
  return last;
}

microseconds time_of(const std::vector<Meeting>& meetings) {
  microseconds first = microseconds::max();
  microseconds last = microseconds::min();
  for (const Meeting& meeting : meetings)
    for (const auto& [rank, at] : meeting) {
      first = std::min(first, at);
      last = std::max(last, at);
    }
  return last - first;
}

void add_place(const Arrivals& arrivals, Straggler& to) {
  for (const auto& [place, seen] : arrivals.places) {
    to.looks += seen;
    if (place.empty() || seen <= to.seen) continue;
    to.where = place;
    to.seen = seen;
  }
}

}  // namespace

std::optional<Straggler> find_straggler(const std::map<Rank, Arrivals>& ranks) {
  const std::vector<Meeting> meetings = whole_meetings(ranks);
  if (meetings.size() < kFewestCollectives) return std::nullopt;
  std::map<Rank, std::vector<microseconds>> behind;
  for (const Meeting& meeting : meetings) {
    const Late late = last_of(meeting);
    behind[late.rank].push_back(late.behind);
  }
  auto& [rank, times] =
      *std::ranges::max_element(behind, {}, [](const auto& one) { return one.second.size(); });
  std::ranges::sort(times);
  microseconds waited{};
  for (const microseconds time : times) waited += time;
  const microseconds median = times[times.size() / 2];
  Straggler found;
  found.rank = rank.value;
  found.last = static_cast<int>(times.size());
  found.of = static_cast<int>(meetings.size());
  found.behind_us = static_cast<int>(std::min(median, kLongestWait).count());
  const microseconds time = std::max(time_of(meetings), microseconds(1));
  // Groups that meet at the same time wait at the same time.
  const std::chrono::duration<double> share = waited;
  found.waited = static_cast<int>(std::min(1.0, share / time) * kPercent);
  if (found.last * kPercent < found.of * kFewestPercentLast || median < kShortestWait ||
      found.waited < kFewestPercentWaited)
    return std::nullopt;
  add_place(ranks.at(rank), found);
  return found;
}

}  // namespace safelaunch::ranks
