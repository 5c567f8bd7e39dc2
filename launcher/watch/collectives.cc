#include "safelaunch/watch/collectives.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"

// Different operations under one number come first, where somebody still waits there or beyond.
// Then ranks that wait for each other in a circle: from all that wait, those are taken away that
// wait for nobody who is left. The ranks that remain wait for each other and can never go on. Where
// none remains, the ranks that were awaited and wait nowhere are behind.
namespace safelaunch::watch {
namespace {

using Answers = std::map<Rank, RankCollectives>;

std::string name_of(const CollectiveSeen& one) {
  return fmt::format("{}, collective {} of group {}", one.operation, one.number, one.group);
}

const char* verb(std::span<const Rank> ranks) {
  return ranks.size() == 1 ? "waits" : "wait";
}

/// The oldest collective that is not finished, since it holds the rank up.
const CollectiveSeen* stands_in(const RankCollectives& rank) {
  const auto found = std::ranges::find_if(rank.last, [](const CollectiveSeen& one) {
    return one.state != CollectiveSeen::State::finished;
  });
  return found == rank.last.end() ? nullptr : &*found;
}

/// The number of the last collective that the rank has called in a group; 0: none.
std::int64_t called_in(const RankCollectives& rank, const std::string& group) {
  const auto counted = rank.groups.find(group);
  std::int64_t number = counted == rank.groups.end() ? 0 : counted->second.enqueued;
  for (const CollectiveSeen& one : rank.last)
    if (one.group == group) number = std::max(number, one.number);
  return number;
}

// ---- different operations under one number ------------------------------------------------------

using Place = std::pair<std::string, std::int64_t>;  // group, number
using RanksByOperation = std::map<std::string, std::vector<Rank>>;

std::string operations_in_words(const Place& place, const RanksByOperation& operations) {
  std::vector<std::pair<std::string, std::vector<Rank>>> parts(operations.begin(),
                                                               operations.end());
  std::ranges::stable_sort(parts, std::greater(),
                           [](const auto& one) { return one.second.size(); });
  std::string text = fmt::format("collective {} of group {} is", place.second, place.first);
  const char* joint = " ";
  for (const auto& [operation, ranks] : parts) {
    text += fmt::format("{}{} on {}", joint, operation, rank_list(ranks));
    joint = ", but ";
  }
  return text;
}

/// Two kinds of collectives were counted as one: then a number says nothing.
bool contradicts_itself(const RanksByOperation& operations) {
  std::set<Rank> seen;
  for (const auto& [operation, ranks] : operations)
    for (const Rank rank : ranks)
      if (!seen.insert(rank).second) return true;
  return false;
}

std::string different_operations(const Answers& ranks) {
  std::map<Place, RanksByOperation> called;
  std::map<std::string, std::int64_t> held_up;  // group → the last number that somebody waits in
  for (const auto& [rank, answer] : ranks) {
    for (const CollectiveSeen& one : answer.last)
      called[{one.group, one.number}][one.operation].push_back(rank);
    if (const CollectiveSeen* one = stands_in(answer))
      held_up[one->group] = std::max(held_up[one->group], one->number);
  }
  for (const auto& [place, operations] : called) {
    const auto hang = held_up.find(place.first);
    // Operations that did not match and yet passed do not hold up any rank.
    if (operations.size() > 1 && !contradicts_itself(operations) && hang != held_up.end() &&
        hang->second >= place.second)
      return operations_in_words(place, operations);
  }
  return {};
}

// ---- who waits for whom -------------------------------------------------------------------------

class Waits {
 public:
  explicit Waits(const Answers& ranks) : ranks_(ranks) {
    for (const auto& [rank, answer] : ranks)
      for (const auto& [group, members] : answer.members)
        members_[group].insert(members.begin(), members.end());
    for (const auto& [rank, answer] : ranks)
      if (const CollectiveSeen* one = stands_in(answer)) standing_[rank] = one;
    for (const auto& [rank, one] : standing_) awaited_[rank] = awaited_by(rank, *one);
  }

  /// Ranks that wait in each other's absence: each for one that is among them.
  [[nodiscard]] std::set<Rank> entangled() const {
    std::set<Rank> left;
    for (const auto& [rank, awaited] : awaited_) left.insert(rank);
    const auto free = [&](Rank rank) {
      return std::ranges::none_of(awaited_.at(rank), [&](Rank one) { return left.contains(one); });
    };
    while (std::erase_if(left, free) > 0) {
    }
    return left;
  }

  /// The awaited ranks, without those that wait themselves. A rank that several collectives await
  /// gets one for which nobody waits elsewhere: the others hang behind it.
  [[nodiscard]] std::map<Rank, const CollectiveSeen*> behind() const {
    std::map<Rank, const CollectiveSeen*> result;
    const auto waits = [this](Rank one) { return standing_.contains(one); };
    for (const bool at_the_root : {true, false})
      for (const auto& [rank, awaited] : awaited_)
        if (std::ranges::none_of(awaited, waits) == at_the_root)
          for (const Rank one : awaited)
            if (!waits(one)) result.emplace(one, standing_.at(rank));
    return result;
  }

  /// "barrier, collective 1 of group 2 (ranks 2 3)": a group of some ranks is told with them.
  [[nodiscard]] std::string name_with_ranks(const CollectiveSeen& one) const {
    const auto members = members_.find(one.group);
    if (members == members_.end() || std::ranges::all_of(members_, [&](const auto& other) {
          return other.second.size() <= members->second.size();
        }))
      return name_of(one);
    return fmt::format("{} ({})", name_of(one),
                       rank_list(std::vector(members->second.begin(), members->second.end())));
  }

  [[nodiscard]] std::string in_words(const std::set<Rank>& those) const {
    std::map<std::pair<std::string, std::vector<Rank>>, std::vector<Rank>> parts;
    for (const Rank rank : those) {
      std::vector<Rank> awaited = awaited_.at(rank);
      std::erase_if(awaited, [&](Rank one) { return !those.contains(one); });
      parts[{name_of(*standing_.at(rank)), std::move(awaited)}].push_back(rank);
    }
    std::vector<std::string> words;
    for (const auto& [what, waiting] : parts)
      words.push_back(fmt::format("{} {} in {}, for {}", rank_list(waiting), verb(waiting),
                                  what.first, rank_list(what.second)));
    return join(words, "; ");
  }

 private:
  [[nodiscard]] std::vector<Rank> awaited_by(Rank rank, const CollectiveSeen& one) const {
    std::vector<Rank> awaited;
    const auto members = members_.find(one.group);
    if (members == members_.end()) return awaited;
    for (const Rank member : members->second) {
      const auto answer = ranks_.find(member);
      if (member != rank && answer != ranks_.end() && answer->second.told &&
          called_in(answer->second, one.group) < one.number)
        awaited.push_back(member);
    }
    return awaited;
  }

  const Answers& ranks_;
  std::map<std::string, std::set<Rank>> members_;  // the members of each group
  std::map<Rank, const CollectiveSeen*> standing_;
  std::map<Rank, std::vector<Rank>> awaited_;  // the awaited ranks, by those that wait
};

std::string behind_in_words(const std::map<Rank, const CollectiveSeen*>& behind,
                            const Waits& waits) {
  std::map<std::string, std::vector<Rank>> parts;
  for (const auto& [rank, one] : behind) parts[waits.name_with_ranks(*one)].push_back(rank);
  std::vector<std::string> words;
  for (const auto& [what, ranks] : parts)
    words.push_back(fmt::format("{} never called {}", rank_list(ranks), what));
  return join(words, "; ");
}

// ---- the store ----------------------------------------------------------------------------------

std::string waits_in_words(const Answers& ranks) {
  std::map<std::string, std::vector<Rank>> parts;
  for (const auto& [rank, answer] : ranks) {
    std::vector<std::string> operations = answer.waits;
    std::erase_if(operations, [](const auto& wait) { return !wait.starts_with("TCPStore__"); });
    if (!operations.empty()) parts[join(operations, ", ")].push_back(rank);
  }
  std::vector<std::string> words;
  for (const auto& [operations, waiting] : parts)
    words.push_back(
        fmt::format("{} {} in the store ({})", rank_list(waiting), verb(waiting), operations));
  return join(words, "; ");
}

// Empty where they wait in several, or nobody waits.
std::string together_in_words(const Answers& ranks) {
  std::map<std::string, std::vector<Rank>> parts;
  for (const auto& [rank, answer] : ranks)
    if (const CollectiveSeen* one = stands_in(answer)) parts[name_of(*one)].push_back(rank);
  if (parts.size() != 1) return {};
  const auto& [collective, waiting] = *parts.begin();
  return fmt::format("{} {} in {}", rank_list(waiting), verb(waiting), collective);
}

const char* name(CollectiveSeen::State state) {
  constexpr std::array<const char*, 3> kNames{"enqueued", "started", "finished"};
  return kNames.at(static_cast<std::size_t>(state));
}

}  // namespace

std::string describe(const RankCollectives& rank) {
  std::vector<std::string> words;
  for (const auto& [group, counters] : rank.groups)
    words.push_back(fmt::format("group {}: enqueued {}, started {}, completed {}", group,
                                counters.enqueued, counters.started, counters.completed));
  for (const CollectiveSeen& one : rank.last)
    words.push_back(fmt::format("{}: {}", name_of(one), name(one.state)));
  for (const std::string& wait : rank.waits) words.push_back("waits in " + wait);
  return words.empty() ? "no collective yet" : join(words, "; ");
}

CollectivesCompared compare(const std::map<Rank, RankCollectives>& ranks) {
  CollectivesCompared result;
  for (const auto& [rank, answer] : ranks)
    if (stands_in(answer) != nullptr) result.waiting.push_back(rank);
  result.store_waits = waits_in_words(ranks);
  result.contradiction = different_operations(ranks);
  if (!result.contradiction.empty()) return result;
  const Waits waits(ranks);
  if (const std::set<Rank> entangled = waits.entangled(); !entangled.empty()) {
    result.contradiction = waits.in_words(entangled);
    return result;
  }
  const auto behind = waits.behind();
  for (const auto& [rank, one] : behind) result.behind.push_back(rank);
  result.behind_what = behind_in_words(behind, waits);
  if (behind.empty()) result.together = together_in_words(ranks);
  return result;
}

}  // namespace safelaunch::watch
