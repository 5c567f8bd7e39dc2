#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/base/result.h"

namespace safelaunch::output {

/// Which ranks reach the terminal (`--ranks`). The files always hold all.
class RankSelection {
 public:
  /// All ranks.
  RankSelection() = default;

  /// Reads "all", "0", "0,3" or "0-3,8". The error names the part that is wrong.
  [[nodiscard]] static Result<RankSelection> parse(std::string_view text);

  [[nodiscard]] bool contains(Rank rank) const;

  /// The first chosen rank of a range that lies wholly past a job's last one, or nullopt.
  [[nodiscard]] std::optional<Rank> beyond(int world_size) const;

 private:
  std::vector<std::pair<int, int>> ranges_;  // first and last; none at all means every rank
};

}  // namespace safelaunch::output
