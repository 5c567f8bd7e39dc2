#pragma once

#include <span>
#include <vector>

#include "safelaunch/base/event.h"

namespace safelaunch {

/// "rank 3", "ranks 0 3 7", "ranks 0-5 9": for a person, so long runs are shortened and after a
/// dozen pieces the rest is counted. The ranks are in rising order.
[[nodiscard]] std::string rank_list(std::span<const Rank> ranks);

/// The ranks within a sentence: "rank 2", "ranks 0, 1 and 3", "ranks 0-6 and 8". All are named,
/// each once, whatever their order.
[[nodiscard]] std::string ranks_in_words(std::vector<Rank> ranks);

/// Ranks that share the same words.
struct AlikeRanks {
  std::string words;
  std::vector<Rank> ranks;
  bool operator==(const AlikeRanks&) const = default;
};

/// Adds a rank to the group with the same words; new words make a group at the end.
void add_alike(std::vector<AlikeRanks>& groups, Rank rank, std::string words);

}  // namespace safelaunch
