#include "rank_bounds.h"

#include <algorithm>

namespace safelaunch::run {
namespace {

constexpr std::size_t kMostRanksOfAProcess = 16;

}  // namespace

void note_raised(std::vector<RankRaised>& raised, RankRaised news) {
  const auto is_of_rank = [&](const RankRaised& one) { return one.rank == news.rank; };
  if (std::ranges::count_if(raised, is_of_rank) >= 2) {
    const auto last = std::find_if(raised.rbegin(), raised.rend(), is_of_rank);
    raised.erase(std::next(last).base());
  }
  raised.push_back(std::move(news));
}

bool NamedRanks::accept(ProcessId process, Rank rank) {
  std::set<Rank>& ranks = named_[process];
  if (ranks.size() >= kMostRanksOfAProcess && !ranks.contains(rank)) return false;
  ranks.insert(rank);
  return true;
}

}  // namespace safelaunch::run
