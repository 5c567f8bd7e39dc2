#include "safelaunch/watch/collectives.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "safelaunch/base/format.h"
#include "safelaunch/base/rank_list.h"
#include "safelaunch/base/strings.h"

// A rank stands in a collective of the flight recorder, or, where the recorder tells of none, in
// its first call as its hook told it: gloo's recorder knows no messages. Different operations under
// one number come first, where somebody still waits there or beyond. Then ranks that wait for each
// other in a circle: from all that wait, those are taken away that wait for nobody who is left. The
// ranks that remain wait for each other and can never go on. Where none remains, the ranks that
// were awaited and wait nowhere are behind.
namespace safelaunch::watch {
namespace {

using Answers = std::map<Rank, RankCollectives>;

// As many collectives a rank tells at most (the hook's counters.py).
constexpr std::size_t kToldOfAllGroups = 64;

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

/// The number of the last collective that the rank has called in a group; 0: none. torch counts its
/// groups by numbers that each process gives anew, and names them by others. Only the world's are
/// the same: the counters of another name count where the last collectives are not told, or not all
/// of them.
std::int64_t called_in(const RankCollectives& rank, const std::string& group) {
  std::int64_t number = 0;
  for (const CollectiveSeen& one : rank.last)
    if (one.group == group) number = std::max(number, one.number);
  const bool is_world = group == "0" || group.starts_with("0 ");
  if (number > 0 || (!is_world && rank.told && rank.last.size() < kToldOfAllGroups)) return number;
  const auto counted = rank.groups.find(group);
  return counted == rank.groups.end() ? 0 : counted->second.enqueued;
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

// ---- first calls --------------------------------------------------------------------------------

/// "barrier on ranks 0 2, but all_gather on rank 1"
std::string differently(const std::vector<AlikeRanks>& parts) {
  std::vector<std::string> words;
  for (const AlikeRanks& part : parts)
    words.push_back(fmt::format("{} on {}", part.words, rank_list(part.ranks)));
  return join(words, ", but ");
}

bool is_message(const FirstCall& call) {
  return call.operation == "send" || call.operation == "recv";
}

bool makes_a_group(const FirstCall& call) {
  return call.operation == "new_group";
}

/// The call that it is in, or has had; a group that is made is no word on what followed.
const FirstCall* call_of(const RankCollectives& rank) {
  const bool is_past = rank.first && makes_a_group(*rank.first) && !rank.first->open;
  return rank.first && !is_past ? &*rank.first : nullptr;
}

/// "recv from rank 2", "gather to rank 0", "send to rank 1 with tag 7"
std::string words_of(const FirstCall& call) {
  if (!call.peer) return call.operation;
  constexpr std::array<std::string_view, 3> kFrom{"recv", "broadcast", "scatter"};
  const bool from = std::ranges::find(kFrom, call.operation) != kFrom.end();
  return fmt::format("{} {} rank {}{}", call.operation, from ? "from" : "to", call.peer->value,
                     call.tag == 0 ? "" : fmt::format(" with tag {}", call.tag));
}

/// The first collectives of one group are one collective. NCCL may finish one's side of two that
/// do not match, and hold up the other's.
std::string different_first_calls(const Answers& ranks) {
  std::map<std::string, std::vector<AlikeRanks>> called;
  std::set<std::string> held_up;
  for (const auto& [rank, answer] : ranks) {
    if (!answer.first || is_message(*answer.first) || makes_a_group(*answer.first)) continue;
    add_alike(called[answer.first->group], rank, words_of(*answer.first));
    if (answer.first->open) held_up.insert(answer.first->group);
  }
  for (auto& [group, parts] : called) {
    if (parts.size() < 2 || !held_up.contains(group)) continue;
    std::ranges::stable_sort(parts, std::greater(),
                             [](const AlikeRanks& one) { return one.ranks.size(); });
    return fmt::format("the first collective of group {} is {}", group, differently(parts));
  }
  return {};
}

// ---- who waits for whom -------------------------------------------------------------------------

/// Where a rank stands and waits for others.
struct Standing {
  const CollectiveSeen* recorded = nullptr;  ///< in the flight recorder
  const FirstCall* first = nullptr;          ///< where the recorder tells of none
  std::vector<Rank> awaited{};
};

std::string name_of(const Standing& standing) {
  return standing.recorded != nullptr ? name_of(*standing.recorded) : words_of(*standing.first);
}

class Waits {
 public:
  explicit Waits(const Answers& ranks) : ranks_(ranks) {
    for (const auto& [rank, answer] : ranks)
      for (const auto& [group, members] : answer.members)
        members_[group].insert(members.begin(), members.end());
    for (const auto& [rank, answer] : ranks) {
      if (const CollectiveSeen* one = stands_in(answer))
        standing_[rank] = {.recorded = one, .awaited = awaited_by(rank, *one)};
      else if (answer.first && answer.first->open && answer.first->blocks)
        standing_[rank] = {.first = &*answer.first, .awaited = awaited_by(rank, *answer.first)};
    }
  }

  [[nodiscard]] const std::map<Rank, Standing>& standing() const { return standing_; }

  /// Ranks that wait in each other's absence: each for one that is among them. Where a circle of
  /// messages holds up others behind it, it is the circle alone.
  [[nodiscard]] std::set<Rank> entangled() const {
    std::set<Rank> left;
    for (const auto& [rank, one] : standing_) left.insert(rank);
    const auto awaits = [this](Rank rank, Rank one) {
      const std::vector<Rank>& awaited = standing_.at(rank).awaited;
      return std::ranges::find(awaited, one) != awaited.end();
    };
    const auto free = [&](Rank rank) {
      return std::ranges::none_of(left, [&](Rank one) { return awaits(rank, one); });
    };
    while (std::erase_if(left, free) > 0) {
    }
    std::set<Rank> circle = left;
    const auto behind_it = [&](Rank rank) {
      return std::ranges::none_of(circle, [&](Rank one) { return awaits(one, rank); });
    };
    while (std::erase_if(circle, behind_it) > 0) {
    }
    return are_messages(circle) ? circle : left;
  }

  /// The awaited ranks, without those that wait themselves. A rank that several calls await gets
  /// one for which nobody waits elsewhere: the others hang behind it.
  [[nodiscard]] std::map<Rank, Rank> behind() const {
    std::map<Rank, Rank> awaited_by;
    const auto waits = [this](Rank one) { return standing_.contains(one); };
    for (const bool at_the_root : {true, false})
      for (const auto& [rank, one] : standing_)
        if (std::ranges::none_of(one.awaited, waits) == at_the_root)
          for (const Rank awaited : one.awaited)
            if (!waits(awaited) && is_untold_otherwise(one, awaited))
              awaited_by.emplace(awaited, rank);
    return awaited_by;
  }

  /// "called barrier, collective 1 of group 2 (ranks 2 3)", "sent to rank 0": a group of some ranks
  /// is told with them.
  [[nodiscard]] std::string never_done_for(Rank waiting) const {
    const Standing& one = standing_.at(waiting);
    if (one.recorded == nullptr && is_message(*one.first))
      return fmt::format("{} rank {}", one.first->operation == "recv" ? "sent to" : "received from",
                         waiting.value);
    return "called " + (one.recorded != nullptr ? name_with_ranks(*one.recorded) : name_of(one));
  }

  [[nodiscard]] bool are_messages(const std::set<Rank>& those) const {
    return std::ranges::all_of(those, [this](Rank rank) {
      const Standing& one = standing_.at(rank);
      return one.recorded == nullptr && is_message(*one.first);
    });
  }

  [[nodiscard]] std::string in_words(const std::set<Rank>& those) const {
    constexpr std::size_t kMostTold = 4;
    std::map<std::pair<std::string, std::vector<Rank>>, std::vector<Rank>> parts;
    for (const Rank rank : those) {
      std::vector<Rank> awaited = standing_.at(rank).awaited;
      std::erase_if(awaited, [&](Rank one) { return !those.contains(one); });
      parts[{name_of(standing_.at(rank)), std::move(awaited)}].push_back(rank);
    }
    std::vector<std::string> words;
    for (const auto& [what, waiting] : parts) {
      if (words.size() == kMostTold) {
        words.push_back(fmt::format("and {} more in a circle", parts.size() - kMostTold));
        break;
      }
      words.push_back(fmt::format("{} {} in {}", rank_list(waiting), verb(waiting), what.first));
      const bool names_it = standing_.at(waiting.front()).recorded == nullptr &&
                            is_message(*standing_.at(waiting.front()).first);
      if (!names_it) words.back() += ", for " + rank_list(what.second);
    }
    return join(words, "; ");
  }

 private:
  [[nodiscard]] std::string name_with_ranks(const CollectiveSeen& one) const {
    const auto members = members_.find(one.group);
    if (members == members_.end() || std::ranges::all_of(members_, [&](const auto& other) {
          return other.second.size() <= members->second.size();
        }))
      return name_of(one);
    return fmt::format("{} ({})", name_of(one),
                       rank_list(std::vector(members->second.begin(), members->second.end())));
  }

  /// Of a rank that has had a call of its own only the recorder tells what else it has called.
  [[nodiscard]] bool is_untold_otherwise(const Standing& one, Rank awaited) const {
    const auto answer = ranks_.find(awaited);
    return one.recorded != nullptr ||
           (answer != ranks_.end() && answer->second.told && call_of(answer->second) == nullptr);
  }

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

  /// Whether the other end is in the call that fits: then nobody is awaited, and the way between
  /// the two is at fault.
  [[nodiscard]] bool meets_its_message(Rank rank, const FirstCall& call) const {
    const auto answer = ranks_.find(*call.peer);
    if (answer == ranks_.end() || !answer->second.first) return false;
    const FirstCall& other = *answer->second.first;
    return is_message(other) && other.operation != call.operation && other.peer == rank &&
           other.tag == call.tag;
  }

  /// Those of its members that have not made the same call.
  [[nodiscard]] std::vector<Rank> awaited_by(Rank rank, const FirstCall& call) const {
    if (is_message(call))
      return call.peer && !meets_its_message(rank, call) ? std::vector{*call.peer}
                                                         : std::vector<Rank>{};
    std::vector<Rank> awaited;
    for (const auto& [member, answer] : ranks_) {
      const bool belongs =
          call.members.empty() || std::ranges::find(call.members, member) != call.members.end();
      const FirstCall* own = call_of(answer);
      const bool has_made_it = answer.first && makes_a_group(call) &&
                               makes_a_group(*answer.first) && answer.first->group == call.group;
      const bool has_come = has_made_it || (own != nullptr && (!own->open || *own == call));
      if (member != rank && belongs && !has_come) awaited.push_back(member);
    }
    return awaited;
  }

  const Answers& ranks_;
  std::map<std::string, std::set<Rank>> members_;  // the members of each group
  std::map<Rank, Standing> standing_;
};

std::string behind_in_words(const std::map<Rank, Rank>& behind, const Waits& waits) {
  std::map<std::string, std::vector<Rank>> parts;
  for (const auto& [rank, waiting] : behind) parts[waits.never_done_for(waiting)].push_back(rank);
  std::vector<std::string> words;
  for (const auto& [what, ranks] : parts)
    words.push_back(fmt::format("{} never {}", rank_list(ranks), what));
  return join(words, "; ");
}

/// The ranks, if all that stand anywhere are in one and the same collective.
std::vector<Rank> in_one_collective(const Answers& ranks) {
  std::vector<AlikeRanks> parts;
  for (const auto& [rank, answer] : ranks) {
    if (const CollectiveSeen* one = stands_in(answer))
      add_alike(parts, rank, name_of(*one));
    else if (answer.first && answer.first->open && !is_message(*answer.first))
      add_alike(parts, rank, fmt::format("{} of {}", words_of(*answer.first), answer.first->group));
  }
  return parts.size() == 1 ? parts.front().ranks : std::vector<Rank>{};
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
  if (rank.first)
    words.push_back(fmt::format("first call {} (group {}): {}", words_of(*rank.first),
                                rank.first->group, rank.first->open ? "open" : "finished"));
  for (const auto& [group, counters] : rank.groups)
    words.push_back(fmt::format("group {}: enqueued {}, started {}, completed {}", group,
                                counters.enqueued, counters.started, counters.completed));
  for (const CollectiveSeen& one : rank.last)
    words.push_back(fmt::format("{}: {}", name_of(one), name(one.state)));
  for (const std::string& wait : rank.waits) words.push_back("waits in " + wait);
  return words.empty() ? "no collective yet" : join(words, "; ");
}

std::string operation_for_people(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kNames{
      {{"allreduce_", "all_reduce"},
       {"allgather_", "all_gather"},
       {"_allgather_base_", "all_gather_into_tensor"},
       {"_reduce_scatter_base_", "reduce_scatter_tensor"},
       {"alltoall_", "all_to_all"},
       {"alltoall_base_", "all_to_all_single"},
       {"recv_any_source_", "recv"},
       {"allreduce_coalesced_", "all_reduce_coalesced"}}};
  for (const auto& [ours, theirs] : kNames)
    if (name == ours) return std::string(theirs);
  return std::string(name.ends_with('_') ? name.substr(0, name.size() - 1) : name);
}

std::string groups_that_differ(const GroupsOfRanks& groups) {
  std::map<std::string, std::vector<AlikeRanks>> views;
  for (const auto& [rank, own] : groups)
    for (const auto& [group, members] : own)
      add_alike(views[group], rank, members.empty() ? "all ranks" : rank_list(members));
  for (const auto& [group, parts] : views) {
    if (parts.size() < 2) continue;
    return fmt::format("group {} is {}", group, differently(parts));
  }
  return {};
}

CollectivesCompared compare(const std::map<Rank, RankCollectives>& ranks) {
  CollectivesCompared result;
  const Waits waits(ranks);
  for (const auto& [rank, one] : waits.standing()) result.waiting.push_back(rank);
  result.store_waits = waits_in_words(ranks);
  result.contradiction = different_operations(ranks);
  if (result.contradiction.empty()) result.contradiction = different_first_calls(ranks);
  if (!result.contradiction.empty()) return result;
  if (const std::set<Rank> entangled = waits.entangled(); !entangled.empty()) {
    result.contradiction = waits.in_words(entangled);
    result.of_messages = waits.are_messages(entangled);
    return result;
  }
  result.together = in_one_collective(ranks);
  const auto behind = waits.behind();
  for (const auto& [rank, waiting] : behind) result.behind.push_back(rank);
  result.behind_what = behind_in_words(behind, waits);
  if (behind.empty()) result.together_in = together_in_words(ranks);
  return result;
}

}  // namespace safelaunch::watch
