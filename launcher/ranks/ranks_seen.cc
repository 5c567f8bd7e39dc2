#include "safelaunch/ranks/ranks_seen.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"

namespace safelaunch::ranks {
namespace {

// A script may meet as several ranks in turn; a process that names more than these is hostile.
constexpr std::size_t kMostRanksOfAProcess = 16;

// A script that makes more groups before its first collective is rare, and the first ones tell
// most.
constexpr std::size_t kMostGroupsOfARank = 64;

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

void note_call(RanksSeen& seen, Rank rank, const watch::HookCall& told, TimePoint now) {
  using What = watch::HookCall::What;
  if (told.what == What::forgotten) {
    seen.calls.erase(rank);
    seen.groups.erase(rank);
    if (!told.init_file || seen.init_file) return;
    seen.init_file = told.init_file;
    seen.init_file_written = now - told.init_file->age - std::chrono::seconds(1);  // it is rounded
  } else if (told.what == What::begins) {
    seen.calls[rank] = told.call;
    auto& groups = seen.groups[rank];
    if (told.call.operation == "new_group" && groups.size() < kMostGroupsOfARank)
      groups.emplace(told.call.group, told.call.members);
  } else if (const auto known = seen.calls.find(rank);
             known != seen.calls.end() && known->second.operation == told.call.operation) {
    known->second.open = told.what == What::again;
  }
}

}  // namespace safelaunch::ranks
