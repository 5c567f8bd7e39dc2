#include "safelaunch/base/first_failed.h"

#include <algorithm>
#include <csignal>

/// The signs are asked from the strongest to the weakest; the first one that names a rank decides.
namespace safelaunch {
namespace {

// Launchers end the remaining ranks with SIGTERM once one has failed.
bool ended_by_sigterm(const RankExited& ended) {
  return ended.status == ExitStatus(Signaled{SIGTERM});
}

std::optional<Rank> first_to_end(const std::vector<RankEnd>& ended) {
  const auto culprit =
      std::ranges::find_if(ended, [](const RankEnd& one) { return one.failed && !one.followed; });
  if (culprit != ended.end()) return culprit->rank;
  const auto first = std::ranges::find_if(ended, &RankEnd::failed);
  if (first != ended.end()) return first->rank;
  return ended.empty() ? std::nullopt : std::optional(ended.front().rank);
}

}  // namespace

std::optional<Rank> first_failed(const FirstSigns& signs) {
  for (const std::optional<Rank>& one :
       {signs.shows_cause, signs.raised_cause, first_to_end(signs.ended), signs.told, signs.raised})
    if (one) return one;
  return std::nullopt;
}

std::vector<RankEnd> ends_of(const std::vector<RankExited>& ended,
                             const std::set<Rank>& lost_a_peer) {
  std::vector<RankEnd> ends;
  for (const RankExited& one : ended) {
    const bool failed = one.status && !succeeded(*one.status);
    const bool told_to_end = !ends.empty() && ended_by_sigterm(one);
    ends.push_back({one.rank, failed, told_to_end || lost_a_peer.contains(one.rank)});
  }
  return ends;
}

bool failed_unseen(Rank told, const std::vector<RankExited>& ended) {
  if (ended.empty() || !ended.front().status) return true;
  return ended_by_sigterm(ended.front()) && ended.front().rank != told;
}

}  // namespace safelaunch
