#include "safelaunch/probe/node_round.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>

#include "safelaunch/base/cause_ids.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/json_fields.h"

// A text of another node is believed only where it is whole and within any job's size. One verdict
// comes of all: the node that had trouble first decides whether a group failed or hung, since ranks
// also fail because others were aborted; of a hang the ranks that are furthest behind are named.
namespace safelaunch::probe {
namespace {

using RoundJson = nlohmann::json;

// More than any job has. A greater number was not written by us.
constexpr int kMostSeats = 100'000;
constexpr int kMostRanks = 10'000'000;
constexpr std::size_t kMostFailures = 64;
constexpr std::size_t kLongestWords = 1'000;

// ---- texts --------------------------------------------------------------------------------------

constexpr std::array kVerdictNames{"works", "failed", "hung", "untold"};

constexpr std::array kTroubleNames{"none", "failed", "hung"};

RoundJson json_of(const Works& works) {
  RoundJson json{{"init_ms", works.init_ms}, {"first_ms", works.first_all_reduce_ms}};
  if (works.bus_gb_per_s) json["gb_per_s"] = *works.bus_gb_per_s;
  return json;
}

RoundJson json_of(const Failed& failed) {
  RoundJson failures = RoundJson::array();
  for (const RankFailure& one : failed.failures)
    if (failures.size() < kMostFailures)
      failures.push_back({{"rank", one.rank},
                          {"phase", name(one.phase)},
                          {"words", cut(one.words, kLongestWords)}});
  return {{"failures", std::move(failures)}};
}

RoundJson json_of(const Hung& hung) {
  return {{"phase", name(hung.phase)}, {"ranks", hung.ranks}};
}

RoundJson json_of(const Untold& untold) {
  return {{"why", cut(untold.why, kLongestWords)}};
}

std::optional<Phase> phase_of(const RoundJson& json) {
  return probe_phase(text_of(json, "phase"));
}

bool is_rank(int rank) {
  return rank >= 0 && rank < kMostRanks;
}

std::optional<Verdict> works_from(const RoundJson& json) {
  const auto init = amount_of(json, "init_ms");
  const auto first = amount_of(json, "first_ms");
  if (!init || !first) return std::nullopt;
  return Works{*init, *first, amount_of(json, "gb_per_s")};
}

std::optional<Verdict> failed_from(const RoundJson& json) {
  Failed failed;
  for (const RoundJson& one : array_of(json, "failures")) {
    const auto rank = number_of(one, "rank", 0, kMostRanks);
    const auto phase = phase_of(one);
    if (!rank || !phase || failed.failures.size() == kMostFailures) return std::nullopt;
    failed.failures.push_back({*rank, *phase, text_of(one, "words", kLongestWords)});
  }
  if (failed.failures.empty()) return std::nullopt;
  return failed;
}

std::optional<Verdict> hung_from(const RoundJson& json) {
  const auto phase = phase_of(json);
  std::vector<int> ranks = numbers_of(json, "ranks");
  if (!phase || ranks.empty() || !std::ranges::all_of(ranks, is_rank)) return std::nullopt;
  return Hung{*phase, std::move(ranks)};
}

std::optional<Verdict> verdict_from(const RoundJson& json) {
  const std::string kind = text_of(json, "verdict");
  if (kind == kVerdictNames[0]) return works_from(json);
  if (kind == kVerdictNames[1]) return failed_from(json);
  if (kind == kVerdictNames[2]) return hung_from(json);
  if (kind == kVerdictNames[3]) return Untold{text_of(json, "why", kLongestWords)};
  return std::nullopt;
}

std::string written(const RoundJson& json) {
  return json.dump(-1, ' ', false, RoundJson::error_handler_t::replace);
}

// Each node is in one group at most.
std::optional<std::vector<NodeGroup>> groups_from(const RoundJson& json) {
  std::vector<NodeGroup> groups;
  std::set<int> seen;
  for (const RoundJson& one : array_of(json, "groups")) {
    if (!one.is_array() || one.empty()) return std::nullopt;
    NodeGroup& group = groups.emplace_back();
    for (const RoundJson& seat : one) {
      const auto number = as_number(seat);
      if (!number || *number < 0 || *number >= kMostSeats || !seen.insert(*number).second)
        return std::nullopt;
      group.push_back(*number);
    }
  }
  return groups;
}

}  // namespace

std::string to_text(const RoundWord& word) {
  RoundJson json{{"round", word.round}, {"groups", word.groups}, {"over", word.over}};
  RoundJson& ids = json["ids"] = RoundJson::array();
  for (const auto& [group, id] : word.ids) ids.push_back({{"group", group}, {"id", id}});
  return written(json);
}

std::optional<RoundWord> round_word_from(std::string_view text) {
  const RoundJson json = parse_json<RoundJson>(text);
  RoundWord word;
  const auto round = number_of(json, "round", 1, kMostRanks);
  auto groups = groups_from(json);
  if (!round || !groups) return std::nullopt;
  word.round = *round;
  word.groups = *std::move(groups);
  const int last = static_cast<int>(word.groups.size()) - 1;
  for (const RoundJson& one : array_of(json, "ids")) {
    const auto group = number_of(one, "group", 0, last);
    std::string id = text_of(one, "id");
    if (!group || !is_unique_id(id)) return std::nullopt;
    word.ids[*group] = std::move(id);
  }
  word.over = numbers_of(json, "over");
  const auto is_group = [&](int group) { return group >= 0 && group <= last; };
  if (!std::ranges::all_of(word.over, is_group)) return std::nullopt;
  return word;
}

std::string to_text(const NodeRound& round) {
  RoundJson json{{"round", round.round}};
  if (round.verdict) {
    json = std::visit([](const auto& one) { return json_of(one); }, *round.verdict);
    json["round"] = round.round;
    json["verdict"] = kVerdictNames[round.verdict->index()];
  }
  if (round.ready) json["ready"] = true;
  if (!round.id.empty()) json["id"] = round.id;
  if (round.measured) json["measured"] = true;
  if (round.trouble != Trouble::none)
    json["trouble"] = kTroubleNames[static_cast<std::size_t>(round.trouble)];
  if (round.cut_short) json["cut_short"] = true;
  if (!round.cause.empty()) json["cause"] = round.cause;
  return written(json);
}

std::optional<NodeRound> node_round_from(std::string_view text) {
  const RoundJson json = parse_json<RoundJson>(text);
  NodeRound told;
  const auto round = number_of(json, "round", 1, kMostRanks);
  if (!round) return std::nullopt;
  told.round = *round;
  told.ready = is_true(json, "ready");
  told.measured = is_true(json, "measured");
  const auto trouble = std::ranges::find(kTroubleNames, text_of(json, "trouble"));
  if (trouble != kTroubleNames.end())
    told.trouble = static_cast<Trouble>(trouble - kTroubleNames.begin());
  told.cut_short = is_true(json, "cut_short");
  told.cause = text_of(json, "cause", kLongestWords);
  told.id = text_of(json, "id");
  if (!told.id.empty() && !is_unique_id(told.id)) return std::nullopt;
  if (field_of(json, "verdict") == nullptr) return told;
  told.verdict = verdict_from(json);
  return told.verdict ? std::optional(told) : std::nullopt;
}

// ---- places -------------------------------------------------------------------------------------

namespace {

int ranks_of(const std::vector<int>& ranks, int seat) {
  return static_cast<std::size_t>(seat) < ranks.size() ? ranks[static_cast<std::size_t>(seat)] : 0;
}

Part part_in(const NodeGroup& group, int seat, const std::vector<int>& ranks) {
  Part part;
  if (group.size() < 2) return part;
  for (const int one : group) {
    if (one == seat) part.first = part.all;
    part.all += ranks_of(ranks, one);
  }
  return part;
}

// ---- one verdict out of those of all nodes ------------------------------------------------------

/// A verdict, and the seat that has told it.
struct Told {
  int seat = 0;
  const NodeRound* round = nullptr;
};

template <class Kind>
bool is_kind(const Told& one) {
  return std::holds_alternative<Kind>(*one.round->verdict);
}

bool before_meeting(Phase phase) {
  return phase < Phase::init;
}

void merge_failures(const std::vector<Told>& all, GroupResult& result) {
  Failed failed;
  for (const Told& one : all)
    if (const auto* its = std::get_if<Failed>(&*one.round->verdict)) {
      failed.failures.insert(failed.failures.end(), its->failures.begin(), its->failures.end());
      if (result.cause.empty()) result.cause = one.round->cause;
      if (before_meeting(its->failures.front().phase)) result.ill[one.seat] = reason(*its);
    }
  if (!failed.failures.empty()) result.verdict = std::move(failed);
}

/// How far a node was when a group hung. A node that failed then did so because others were
/// aborted.
std::optional<Hung> standing_of(const NodeRound& round) {
  if (const auto* hung = std::get_if<Hung>(&*round.verdict)) return *hung;
  const auto* failed = std::get_if<Failed>(&*round.verdict);
  if (failed == nullptr) return std::nullopt;
  Hung standing{failed->failures.front().phase, {}};
  for (const RankFailure& one : failed->failures) standing.ranks.push_back(one.rank);
  return standing;
}

// A node that was cut short was in the phase where it says; the node that is furthest behind holds
// up all.
void merge_hangs(const std::vector<Told>& all, GroupResult& result) {
  std::optional<Hung> last;
  for (const Told& one : all) {
    const auto hung = standing_of(*one.round);
    if (!hung) continue;
    if (!one.round->cut_short && before_meeting(hung->phase))
      result.ill[one.seat] = reason(*one.round->verdict);
    if (last && last->phase < hung->phase) continue;
    if (!last || hung->phase < last->phase) last = Hung{hung->phase, {}};
    last->ranks.insert(last->ranks.end(), hung->ranks.begin(), hung->ranks.end());
    const bool by_itself = is_kind<Hung>(one) && !one.round->cut_short;
    if (by_itself && result.cause.empty()) result.cause = one.round->cause;
  }
  if (!last) return;
  std::ranges::sort(last->ranks);
  result.verdict = *std::move(last);
}

// The slowest links count. The init time of a node holds its wait for the nodes that came later, so
// the shortest one is the time that meeting takes.
Works slowest_of(const std::vector<Told>& all) {
  Works works = std::get<Works>(*all.front().round->verdict);
  for (const Told& one : all) {
    const Works& other = std::get<Works>(*one.round->verdict);
    works.init_ms = std::min(works.init_ms, other.init_ms);
    works.first_all_reduce_ms = std::min(works.first_all_reduce_ms, other.first_all_reduce_ms);
    if (other.bus_gb_per_s && (!works.bus_gb_per_s || *other.bus_gb_per_s < *works.bus_gb_per_s))
      works.bus_gb_per_s = other.bus_gb_per_s;
  }
  return works;
}

/// Whether a node hung, and the others only lost its ranks when those were aborted: their word may
/// be here before its own.
bool lost_those_that_hung(const std::vector<Told>& all) {
  const auto hung_by_itself = [](const Told& one) {
    return is_kind<Hung>(one) && !one.round->cut_short;
  };
  return std::ranges::any_of(all, hung_by_itself) && std::ranges::all_of(all, [](const Told& one) {
           return !is_kind<Failed>(one) || one.round->cause == cause::kPeerLost;
         });
}

void merge(const std::vector<Told>& all, std::size_t nodes, GroupResult& result) {
  if (all.size() == nodes && std::ranges::all_of(all, is_kind<Works>)) {
    result.verdict = slowest_of(all);
    return;
  }
  const bool hung_first = all.front().round->trouble == Trouble::hung || lost_those_that_hung(all);
  if (!hung_first) merge_failures(all, result);  // after a hang, ranks fail since they are aborted
  if (std::holds_alternative<Failed>(result.verdict)) return;
  const auto untold = std::ranges::find_if(all, is_kind<Untold>);
  if (untold != all.end())
    result.verdict = *untold->round->verdict;
  else
    merge_hangs(all, result);
}

}  // namespace

namespace {

/// The nodes whose ranks a verdict names.
std::vector<int> nodes_named(const Verdict& verdict, const NodeGroup& nodes,
                             const std::vector<int>& ranks) {
  std::set<int> named;
  if (const auto* failed = std::get_if<Failed>(&verdict))
    named.insert(failed->failures.front().rank);
  if (const auto* hung = std::get_if<Hung>(&verdict))
    named.insert(hung->ranks.begin(), hung->ranks.end());
  std::vector<int> seats;
  int first = 0;
  for (const int seat : nodes) {
    const int behind = first + ranks_of(ranks, seat);
    const auto one = named.lower_bound(first);
    if (one != named.end() && *one < behind) seats.push_back(seat);
    first = behind;
  }
  return seats;
}

}  // namespace

std::optional<PlaceInRound> place_in(const RoundWord& word, int seat,
                                     const std::vector<int>& ranks) {
  for (std::size_t i = 0; i < word.groups.size(); ++i)
    if (std::ranges::find(word.groups[i], seat) != word.groups[i].end())
      return PlaceInRound{static_cast<int>(i), part_in(word.groups[i], seat, ranks)};
  return std::nullopt;
}

RoundDesk::RoundDesk(int round, std::vector<NodeGroup> groups, std::vector<int> ranks)
    : word_{round, std::move(groups)}, ranks_(std::move(ranks)) {}

bool RoundDesk::take(int seat, const NodeRound& told) {
  const auto place = place_in(word_, seat, ranks_);
  if (told.round != word_.round || !place) return false;
  NodeRound& known = told_[seat];
  const bool is_new = std::ranges::find(order_, seat) == order_.end();
  if ((told.verdict || told.trouble != Trouble::none) && is_new) order_.push_back(seat);
  known = told;
  return conclude(static_cast<std::size_t>(place->group));
}

bool RoundDesk::conclude(std::size_t group) {
  const int number = static_cast<int>(group);
  const NodeGroup& nodes = word_.groups[group];
  if (nodes.size() < 2 || std::ranges::find(word_.over, number) != word_.over.end()) return false;
  const auto all = [&](auto&& holds) {
    return std::ranges::all_of(nodes, [&](int seat) {
      const auto told = told_.find(seat);
      return told != told_.end() && holds(told->second);
    });
  };
  const bool ended = std::ranges::any_of(nodes, [&](int seat) {
    const auto told = told_.find(seat);
    return told != told_.end() && (told->second.verdict || told->second.trouble != Trouble::none);
  });
  // Once a node has failed, the others would wait for it in vain.
  if (ended || all([](const NodeRound& one) { return one.measured; })) {
    word_.over.push_back(number);
    return true;
  }
  const std::string& id = told_[nodes.front()].id;
  if (word_.ids.contains(number) || id.empty()) return false;
  if (!all([](const NodeRound& one) { return one.ready; })) return false;
  word_.ids[number] = id;
  return true;
}

std::vector<GroupResult> RoundDesk::results() const {
  std::vector<GroupResult> results;
  for (const NodeGroup& nodes : word_.groups) {
    GroupResult& result = results.emplace_back();
    result.nodes = nodes;
    std::vector<Told> all;
    for (const int seat : order_)
      if (std::ranges::find(nodes, seat) != nodes.end() && told_.at(seat).verdict)
        all.push_back({seat, &told_.at(seat)});
    if (!all.empty()) merge(all, nodes.size(), result);
    result.stopped = nodes_named(result.verdict, nodes, ranks_);
  }
  return results;
}

}  // namespace safelaunch::probe
