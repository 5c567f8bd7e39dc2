#pragma once

#include <utility>

#include "safelaunch/base/event.h"
#include "safelaunch/base/result.h"

namespace safelaunch::output {

/// The ranks that reach the terminal (`--ranks`). The files always hold all ranks.
class RankSelection {
 public:
  /// Selects all ranks.
  RankSelection() = default;

  /// Reads "all", "0", "0,3" or "0-3,8". The error names the part that is wrong.
  [[nodiscard]] static Result<RankSelection> parse(std::string_view text);

  [[nodiscard]] bool contains(Rank rank) const;

  /// The first rank of a chosen range that lies wholly past a job's last rank, or nullopt.
  [[nodiscard]] std::optional<Rank> beyond(int world_size) const;

 private:
  std::vector<std::pair<int, int>> ranges_;  // first and last; none at all means every rank
};

}  // namespace safelaunch::output
