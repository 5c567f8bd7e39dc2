#include "safelaunch/base/rank_list.h"

#include <algorithm>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

/// Three or more neighbours are one piece ("0-5"), since two are as short by themselves.
namespace safelaunch {
namespace {

constexpr int kMostPieces = 12;  // pieces of a list; the ranks behind them are only counted

// The end of the run of consecutive ranks that starts at `first`.
std::size_t run_end(std::span<const Rank> ranks, std::size_t first) {
  std::size_t last = first;
  while (last + 1 < ranks.size() && ranks[last + 1].value == ranks[last].value + 1) ++last;
  return last;
}

}  // namespace

std::string rank_list(std::span<const Rank> ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  int pieces = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (pieces++ == kMostPieces) return text + fmt::format(" and {} more", ranks.size() - i);
    const std::size_t last = run_end(ranks, i);
    if (last >= i + 2) {
      text += fmt::format(" {}-{}", ranks[i].value, ranks[last].value);
      i = last;
    } else {
      text += fmt::format(" {}", ranks[i].value);
    }
  }
  return text;
}

std::string ranks_in_words(std::vector<Rank> ranks) {
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  std::vector<std::string> pieces;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::size_t first = i;
    const std::size_t last = run_end(ranks, i);
    if (last >= first + 2) i = last;
    pieces.push_back(i == first ? std::to_string(ranks[i].value)
                                : fmt::format("{}-{}", ranks[first].value, ranks[last].value));
  }
  return (ranks.size() == 1 ? "rank " : "ranks ") + list_in_words(pieces);
}

void add_alike(std::vector<AlikeRanks>& groups, Rank rank, std::string words) {
  const auto same = std::ranges::find(groups, words, &AlikeRanks::words);
  if (same != groups.end())
    same->ranks.push_back(rank);
  else
    groups.push_back({std::move(words), {rank}});
}

}  // namespace safelaunch
