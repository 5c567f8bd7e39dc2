#pragma once

#include <span>
#include <string>
#include <vector>

#include "safelaunch/base/event.h"

namespace safelaunch {

/// "rank 3", "ranks 0 3 7", "ranks 0-5 9": for a person, so long runs are shortened and after a
/// dozen pieces the rest is counted. The ranks are in rising order.
[[nodiscard]] std::string rank_list(std::span<const Rank> ranks);

/// Ranks of which the same is to be said.
struct AlikeRanks {
  std::string words;
  std::vector<Rank> ranks;
  bool operator==(const AlikeRanks&) const = default;
};

/// Puts a rank to those with the same words; new words come last.
void add_alike(std::vector<AlikeRanks>& groups, Rank rank, std::string words);

}  // namespace safelaunch
