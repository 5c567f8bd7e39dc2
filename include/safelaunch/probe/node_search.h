#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include "safelaunch/probe/node_round.h"
#include "safelaunch/probe/tournament.h"
#include "safelaunch/probe/verdict.h"

namespace safelaunch::probe {

/// Two nodes, the lower seat first.
using NodePair = std::pair<int, int>;
[[nodiscard]] NodePair pair_of(int one, int other);

/// A profile as it enters the search.
struct SearchProfile {
  std::string name;
  std::string known{};  ///< why it need not be probed; empty: it has to be
};

/// The groups to probe next: a communicator for each, all at the same time.
struct SearchRound {
  enum class Purpose { everywhere, pairs, again, alone, without, halves };
  Purpose purpose = Purpose::everywhere;
  std::size_t profile = 0;
  std::vector<NodeGroup> groups{};
};

/// The result of probing one pair of nodes.
struct PairSeen {
  Verdict verdict{Untold{}};
  std::string cause{};
};

/// The result of the search.
struct SearchFindings {
  std::vector<ProbedProfile> over_all;  ///< each profile over all nodes that can take part
  std::optional<std::size_t> works;     ///< the fastest that works over all of them
  std::size_t searched = 0;             ///< the profile under which pairs were probed
  IllNodes ill{};
  std::set<int> bad_nodes{};  ///< nodes that fail with every partner
  std::set<NodePair> bad_links{};
  std::set<int> slow_nodes{};
  std::set<NodePair> slow_links{};
  bool every_pair_fails = false;
  std::set<int> fail_alone{};  ///< nodes that fail even when they are probed alone
  bool were_alone = false;     ///< some nodes were probed alone
  /// The smallest group that fails though its pairs work; empty: not looked for.
  NodeGroup smallest{};
  NodeGroup left_out{};                  ///< nodes that were left out in the last round
  std::optional<Verdict> without{};      ///< the verdict over the other nodes in that round
  std::map<NodePair, PairSeen> pairs{};  ///< the last result of each pair
  double usual_gb_per_s = 0;             ///< the usual bandwidth of a pair; 0: not known
};

/// Finds out which node, which link or which profile is to blame. A pure value: the next round is a
/// function of what the earlier ones showed.
///
///     everywhere (a round a profile) ── two nodes, and it works ─→ over
///        └─→ pairs: two or three rounds in which every node has two different partners
///              ├ nothing odd, and it works everywhere ─→ over
///              ├ no pair fails though all together do ─→ halves, log n rounds ─→ over
///              ├ every pair fails ─→ alone ─→ over
///              └ some fail, or are slow ─→ again: suspects with partners that are proved, links
///                once more (two rounds, two more for suspects that have met none) ─→ alone:
///                nodes that fail ─→ without them ─→ over
///
/// A node is bad if it fails with every partner, one of them proved; a link if both its nodes work
/// with others. The pairs are probed under the first profile where that fails over all nodes (a
/// slower one may work only because it avoids what is ill), else under the fastest that works.
class NodeSearch {
 public:
  /// `nodes` are the seats that can take part, `ill` the others.
  NodeSearch(NodeGroup nodes, IllNodes ill, std::vector<SearchProfile> profiles);

  /// The round that is to be probed now; nullptr: the search is over.
  [[nodiscard]] const SearchRound* next() const { return next_ ? &*next_ : nullptr; }
  /// Takes the results of that round, one a group.
  void take(const std::vector<GroupResult>& results);

  [[nodiscard]] const SearchFindings& findings() const { return findings_; }
  [[nodiscard]] const NodeGroup& nodes() const { return nodes_; }

 private:
  using Purpose = SearchRound::Purpose;

  void take_everywhere(const GroupResult& result);
  void take_pairs(const std::vector<GroupResult>& results);
  void take_alone(const std::vector<GroupResult>& results);
  void take_halves(const std::vector<GroupResult>& results);

  void probe_everywhere();
  void begin_pairs();
  void probe_pairs();
  void judge_pairs();
  void probe_again();
  void conclude_pairs();
  void probe_alone(const NodeGroup& nodes);
  void probe_without();
  void probe_halves(const NodeGroup& nodes);
  void probe(Purpose purpose, std::vector<NodeGroup> groups);

  [[nodiscard]] bool fails() const;
  [[nodiscard]] bool is_odd(const PairSeen& seen) const;
  [[nodiscard]] bool works_with_somebody(int node) const;
  [[nodiscard]] bool has_met_one_of(const std::set<int>& proved, int node) const;
  [[nodiscard]] std::set<int> suspects() const;
  [[nodiscard]] std::set<NodePair> odd_links() const;
  void find_usual_bandwidth();

  NodeGroup nodes_;
  std::vector<SearchProfile> profiles_;
  SearchFindings findings_;
  std::optional<SearchRound> next_;
  std::vector<std::vector<NodeGroup>> to_pair_;  ///< rounds of pairs still to come
  std::set<NodePair> tried_again_;
  int rounds_again_ = 0;
  int repeats_ = 0;
};

}  // namespace safelaunch::probe
