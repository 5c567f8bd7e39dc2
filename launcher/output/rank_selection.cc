#include "safelaunch/output/rank_selection.h"

#include <algorithm>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

namespace safelaunch::output {
namespace {

std::optional<int> number(std::string_view word) {
  const auto value = to_number(word);
  return value && *value >= 0 ? value : std::nullopt;
}

// Reads "3" or "0-3".
std::optional<std::pair<int, int>> range(std::string_view word) {
  const std::size_t dash = word.find('-');
  const auto first = number(word.substr(0, dash));
  const auto last = dash == std::string_view::npos ? first : number(word.substr(dash + 1));
  if (!first || !last || *last < *first) return std::nullopt;
  return std::pair{*first, *last};
}

}  // namespace

Result<RankSelection> RankSelection::parse(std::string_view text) {
  RankSelection selection;
  if (text == "all") return selection;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    const std::string_view word = text.substr(begin, comma - begin);
    const auto found = range(word);
    if (!found)
      return Error{Errc::usage, fmt::format("'{}' in --ranks {} is neither a rank nor a range of "
                                            "ranks; write all, 0,3 or 0-3",
                                            word, text)};
    selection.ranges_.push_back(*found);
    begin = comma + 1;
  }
  return selection;
}

bool RankSelection::contains(Rank rank) const {
  return ranges_.empty() || std::any_of(ranges_.begin(), ranges_.end(), [=](const auto& range) {
           return rank.value >= range.first && rank.value <= range.second;
         });
}

std::optional<Rank> RankSelection::beyond(int world_size) const {
  const auto found = std::find_if(ranges_.begin(), ranges_.end(),
                                  [=](const auto& range) { return range.first >= world_size; });
  return found == ranges_.end() ? std::nullopt : std::optional(Rank{found->first});
}

}  // namespace safelaunch::output
