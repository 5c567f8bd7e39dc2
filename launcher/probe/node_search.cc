#include "safelaunch/probe/node_search.h"

#include <algorithm>
#include <utility>

// Below stand first what each round's results change, then what follows from all that is known. A
// node is suspected until a pair of it works; suspects are then given partners that are proved, so
// that nobody is blamed for a bad neighbour.
namespace safelaunch::probe {
namespace {

// A pair is slow if it has less than this share of what nodes usually reach. Far beyond what a
// busy host changes from one measurement to the next (kBandwidthNoise).
constexpr double kSlowShare = 0.5;
static_assert(kSlowShare < 1 - kBandwidthNoise);

// Suspects that had no proved partner left in the first round have one in the second. The rounds
// after that are for those that have met none at all: where more is broken than these can tell, the
// names of a few nodes help nobody.
constexpr int kRoundsAgain = 2;
constexpr int kMostRoundsAgain = 4;

// Nodes that stop by themselves are left out, and the others are probed anew, so often.
constexpr int kMostRepeats = 3;

bool does_work(const Verdict& verdict) {
  return std::holds_alternative<Works>(verdict);
}

double bandwidth(const Verdict& verdict) {
  const auto* measured = std::get_if<Works>(&verdict);
  return measured != nullptr ? measured->bus_gb_per_s.value_or(0) : 0;
}

// The ids of all groups of a round go with one word, and that must stay small.
constexpr std::size_t kMostPairsAtOnce = 256;

/// So that none has too many groups.
std::vector<std::vector<NodeGroup>> split(const std::vector<std::vector<NodeGroup>>& rounds) {
  std::vector<std::vector<NodeGroup>> smaller;
  for (const std::vector<NodeGroup>& round : rounds)
    for (std::size_t i = 0; i < round.size(); i += kMostPairsAtOnce) {
      const auto from = round.begin() + static_cast<std::ptrdiff_t>(i);
      const auto count = std::min(kMostPairsAtOnce, round.size() - i);
      smaller.emplace_back(from, from + static_cast<std::ptrdiff_t>(count));
    }
  return smaller;
}

// The nodes stand in a ring; each has both its neighbours as partners.
std::vector<std::vector<NodeGroup>> rounds_of_pairs(const NodeGroup& nodes) {
  const std::size_t count = nodes.size();
  std::vector<std::vector<NodeGroup>> rounds(count % 2 == 0 ? 2 : 3);
  for (std::size_t i = 0; i < count; ++i) {
    const bool closes_odd_ring = count % 2 == 1 && i + 1 == count;
    rounds[closes_odd_ring ? 2 : i % 2].push_back({nodes[i], nodes[(i + 1) % count]});
  }
  return rounds;
}

NodeGroup without_these(const NodeGroup& nodes, const std::set<int>& left_out) {
  NodeGroup rest;
  std::ranges::copy_if(nodes, std::back_inserter(rest),
                       [&](int node) { return !left_out.contains(node); });
  return rest;
}

}  // namespace

NodePair pair_of(int one, int other) {
  return std::minmax(one, other);
}

NodeSearch::NodeSearch(NodeGroup nodes, IllNodes ill, std::vector<SearchProfile> profiles)
    : nodes_(std::move(nodes)), profiles_(std::move(profiles)) {
  findings_.ill = std::move(ill);
  if (nodes_.size() >= 2) probe_everywhere();
}

void NodeSearch::take(const std::vector<GroupResult>& results) {
  const Purpose purpose = next_->purpose;
  next_.reset();
  switch (purpose) {
    case Purpose::everywhere: return take_everywhere(results.front());
    case Purpose::pairs:
    case Purpose::again: return take_pairs(results);
    case Purpose::alone: return take_alone(results);
    case Purpose::without: findings_.without = results.front().verdict; return;
    case Purpose::halves: return take_halves(results);
  }
}

void NodeSearch::probe(Purpose purpose, std::vector<NodeGroup> groups) {
  const std::size_t profile =
      purpose == Purpose::everywhere ? findings_.over_all.size() : findings_.searched;
  next_ = SearchRound{purpose, profile, std::move(groups)};
}

// ---- everywhere ---------------------------------------------------------------------------------

void NodeSearch::probe_everywhere() {
  auto& probed = findings_.over_all;
  while (probed.size() < profiles_.size() && !profiles_[probed.size()].known.empty()) {
    const SearchProfile& profile = profiles_[probed.size()];
    probed.push_back({profile.name, Untold{profile.known}, ""});
  }
  if (probed.size() < profiles_.size()) return probe(Purpose::everywhere, {nodes_});
  findings_.works = winner(probed);
  begin_pairs();
}

void NodeSearch::take_everywhere(const GroupResult& result) {
  for (const auto& [node, why] : result.ill) findings_.ill[node] = why;
  std::erase_if(nodes_, [&](int node) { return result.ill.contains(node); });
  if (nodes_.size() < 2) return;
  if (!result.ill.empty() && repeats_++ < kMostRepeats) return probe_everywhere();
  findings_.over_all.push_back(
      {profiles_[findings_.over_all.size()].name, result.verdict, result.cause});
  probe_everywhere();
}

// ---- pairs --------------------------------------------------------------------------------------

/// Whether the search is for what fails; else it is for what is slow.
bool NodeSearch::fails() const {
  return !does_work(findings_.over_all[findings_.searched].verdict);
}

void NodeSearch::begin_pairs() {
  const auto& probed = findings_.over_all;
  const auto first = std::ranges::find_if(probed, [](const ProbedProfile& one) {
    return !std::holds_alternative<Untold>(one.verdict);
  });
  if (first == probed.end()) return;
  findings_.searched = does_work(first->verdict) ? *findings_.works
                                                 : static_cast<std::size_t>(first - probed.begin());
  if (nodes_.size() == 2) {
    findings_.pairs[pair_of(nodes_[0], nodes_[1])] = {probed[findings_.searched].verdict,
                                                      probed[findings_.searched].cause};
    if (fails()) return conclude_pairs();
    return;
  }
  to_pair_ = split(rounds_of_pairs(nodes_));
  probe_pairs();
}

void NodeSearch::probe_pairs() {
  probe(Purpose::pairs, std::move(to_pair_.front()));
  to_pair_.erase(to_pair_.begin());
}

void NodeSearch::take_pairs(const std::vector<GroupResult>& results) {
  for (const GroupResult& result : results)
    findings_.pairs[pair_of(result.nodes[0], result.nodes[1])] = {result.verdict, result.cause};
  if (!to_pair_.empty()) return probe_pairs();
  judge_pairs();
}

void NodeSearch::judge_pairs() {
  find_usual_bandwidth();
  probe_again();
  if (!next_) conclude_pairs();
}

// Half of the nodes at least reach in their best pair what is usual. The median of the pairs would
// not do: one bad node of three spoils two of them.
void NodeSearch::find_usual_bandwidth() {
  std::map<int, double> best;
  for (const auto& [pair, seen] : findings_.pairs)
    for (const int node : {pair.first, pair.second})
      best[node] = std::max(best[node], bandwidth(seen.verdict));
  std::vector<double> values;
  for (const auto& [node, value] : best) values.push_back(value);
  std::ranges::sort(values);
  findings_.usual_gb_per_s = values.empty() ? 0 : values[values.size() / 2];
}

/// Whether a pair fails where the search is for failures, or is slow where it is for slow ones.
bool NodeSearch::is_odd(const PairSeen& seen) const {
  if (std::holds_alternative<Untold>(seen.verdict)) return false;  // it shows nothing
  if (fails()) return !does_work(seen.verdict);
  return !does_work(seen.verdict) ||
         bandwidth(seen.verdict) < findings_.usual_gb_per_s * kSlowShare;
}

bool NodeSearch::works_with_somebody(int node) const {
  return std::ranges::any_of(findings_.pairs, [&](const auto& one) {
    const auto& [pair, seen] = one;
    return (pair.first == node || pair.second == node) && does_work(seen.verdict) && !is_odd(seen);
  });
}

/// Nodes with an odd pair and no good one.
std::set<int> NodeSearch::suspects() const {
  std::set<int> found;
  for (const auto& [pair, seen] : findings_.pairs)
    if (is_odd(seen)) found.insert({pair.first, pair.second});
  std::erase_if(found, [&](int node) { return works_with_somebody(node); });
  return found;
}

/// Pairs that are odd though both nodes work with somebody else.
std::set<NodePair> NodeSearch::odd_links() const {
  const std::set<int> suspected = suspects();
  std::set<NodePair> found;
  for (const auto& [pair, seen] : findings_.pairs)
    if (is_odd(seen) && !suspected.contains(pair.first) && !suspected.contains(pair.second))
      found.insert(pair);
  return found;
}

/// Whether the node was odd in a pair with one of those.
bool NodeSearch::has_met_one_of(const std::set<int>& proved, int node) const {
  return std::ranges::any_of(findings_.pairs, [&](const auto& one) {
    const auto& [first, second] = one.first;
    return is_odd(one.second) && ((first == node && proved.contains(second)) ||
                                  (second == node && proved.contains(first)));
  });
}

/// Suspects with a partner that is proved and that they have not met, links once more: as many as
/// there is room for. Suspects that have met none yet come first, since nothing speaks against them
/// but others that may be bad themselves.
void NodeSearch::probe_again() {
  const std::set<int> suspected = suspects();
  std::set<int> proved;
  for (const int node : nodes_)
    if (works_with_somebody(node)) proved.insert(node);
  if (proved.empty() || rounds_again_ == kMostRoundsAgain) return;
  std::set<int> busy;
  std::vector<NodeGroup> groups;
  const auto add = [&](int one, int other) {
    if (!tried_again_.insert(pair_of(one, other)).second) return;
    busy.insert({one, other});
    groups.push_back({one, other});
  };
  std::vector<int> in_turn(suspected.begin(), suspected.end());
  std::stable_partition(in_turn.begin(), in_turn.end(),
                        [&](int node) { return !has_met_one_of(proved, node); });
  const bool for_all = rounds_again_ < kRoundsAgain;
  for (const int suspect : in_turn) {
    if (!for_all && has_met_one_of(proved, suspect)) break;
    const auto partner = std::ranges::find_if(proved, [&](int node) {
      return !busy.contains(node) && !findings_.pairs.contains(pair_of(suspect, node));
    });
    const bool had_one = std::ranges::any_of(tried_again_, [&](const NodePair& pair) {
      return pair.first == suspect || pair.second == suspect;
    });
    if (partner != proved.end() && !had_one) add(*partner, suspect);
  }
  for (const auto& [one, other] : for_all ? odd_links() : std::set<NodePair>())
    if (!busy.contains(one) && !busy.contains(other)) add(one, other);
  ++rounds_again_;
  if (!groups.empty()) probe(Purpose::again, std::move(groups));
}

// ---- what follows -------------------------------------------------------------------------------

void NodeSearch::conclude_pairs() {
  const std::set<int> suspected = suspects();
  const std::set<NodePair> links = odd_links();
  if (!fails()) {
    findings_.slow_nodes = suspected;
    findings_.slow_links = links;
    return;
  }
  const auto works = [&](int node) { return works_with_somebody(node); };
  if (!suspected.empty() && std::ranges::none_of(nodes_, works)) {
    findings_.every_pair_fails = true;
    return probe_alone(nodes_);
  }
  findings_.bad_nodes = suspected;
  findings_.bad_links = links;
  if (!suspected.empty()) return probe_alone({suspected.begin(), suspected.end()});
  if (!links.empty()) return probe_without();
  const auto pair_works = [](const auto& one) { return does_work(one.second.verdict); };
  if (std::ranges::all_of(findings_.pairs, pair_works)) probe_halves(nodes_);
}

void NodeSearch::probe_alone(const NodeGroup& nodes) {
  std::vector<NodeGroup> groups;
  for (const int node : nodes) groups.push_back({node});
  probe(Purpose::alone, std::move(groups));
}

void NodeSearch::take_alone(const std::vector<GroupResult>& results) {
  findings_.were_alone = true;
  for (const GroupResult& result : results)
    if (!does_work(result.verdict)) findings_.fail_alone.insert(result.nodes.front());
  if (!findings_.every_pair_fails) return probe_without();
  // Nodes that fail even alone are to blame, unless all do.
  if (findings_.fail_alone.empty() || findings_.fail_alone.size() == nodes_.size()) return;
  findings_.bad_nodes = findings_.fail_alone;
  findings_.every_pair_fails = false;
  probe_without();
}

/// If a link is bad, one of its ends is left out: the one with more such links, else the higher
/// seat.
void NodeSearch::probe_without() {
  std::set<int> left_out = findings_.bad_nodes;
  std::map<int, int> bad_links;
  for (const auto& [one, other] : findings_.bad_links) ++bad_links[one], ++bad_links[other];
  for (const auto& [one, other] : findings_.bad_links)
    if (!left_out.contains(one) && !left_out.contains(other))
      left_out.insert(bad_links[one] > bad_links[other] ? one : other);
  NodeGroup rest = without_these(nodes_, left_out);
  if (rest.size() < 2) return;
  findings_.left_out = {left_out.begin(), left_out.end()};
  probe(Purpose::without, {std::move(rest)});
}

void NodeSearch::probe_halves(const NodeGroup& nodes) {
  findings_.smallest = nodes;
  if (nodes.size() < 4) return;  // its halves are pairs, or one node
  const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>((nodes.size() + 1) / 2);
  probe(Purpose::halves, {{nodes.begin(), middle}, {middle, nodes.end()}});
}

void NodeSearch::take_halves(const std::vector<GroupResult>& results) {
  for (const GroupResult& half : results)
    if (!does_work(half.verdict)) return probe_halves(half.nodes);
}

}  // namespace safelaunch::probe
