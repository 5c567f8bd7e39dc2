#pragma once

#include <map>

#include "safelaunch/probe/probe_run.h"
#include "safelaunch/probe/verdict.h"

/// One round of a probe over several nodes: groups of nodes, each with a communicator of its own,
/// all at the same time. Values only; the texts go over the agents' board.
namespace safelaunch::probe {

/// Nodes whose ranks meet, by their seats.
using NodeGroup = std::vector<int>;

/// The leader's word about a round, for all nodes. `ids` and `over` grow while it runs.
struct RoundWord {
  int round = 0;
  std::vector<NodeGroup> groups{};
  std::map<int, std::string> ids{};  ///< group → the id that its rank 0 has made
  std::vector<int> over{};           ///< groups that have ended on some node, or have measured
  bool operator==(const RoundWord&) const = default;
};

/// How far one node is in a round. Ranks are numbered over all nodes of its group.
struct NodeRound {
  int round = 0;
  bool ready = false;
  std::string id{};  ///< the communicator's id, from the node that has rank 0
  bool measured = false;
  Trouble trouble = Trouble::none;  ///< the trouble that was told before the verdict
  std::optional<Verdict> verdict{};
  bool cut_short = false;  ///< Run::was_cut_short()
  std::string cause{};     ///< a catalogue id that NCCL's lines show; empty: none
  bool operator==(const NodeRound&) const = default;
};

[[nodiscard]] std::string to_text(const RoundWord& word);
[[nodiscard]] std::string to_text(const NodeRound& round);
/// Both read text that another node has written; nullopt where it is none, or contradicts itself.
[[nodiscard]] std::optional<RoundWord> round_word_from(std::string_view text);
[[nodiscard]] std::optional<NodeRound> node_round_from(std::string_view text);

/// The place of a node's ranks in its group.
struct PlaceInRound {
  int group = 0;
  Part part;
};
/// The place of one node. `ranks` are those of each seat; nullopt: the node sits this round out.
[[nodiscard]] std::optional<PlaceInRound> place_in(const RoundWord& word, int seat,
                                                   const std::vector<int>& ranks);

/// Nodes that cannot take part, or did not get as far as meeting others, and why.
using IllNodes = std::map<int, std::string>;

/// The result of one group.
struct GroupResult {
  NodeGroup nodes{};
  Verdict verdict{Untold{"it was not probed"}};
  std::string cause{};
  /// Nodes that stopped before their ranks met others: the other nodes of the group are not to
  /// blame.
  IllNodes ill{};
  std::vector<int> stopped{};  ///< nodes of the ranks that the verdict names
  bool operator==(const GroupResult&) const = default;
};

/// The leader's side of a round: gathers what the nodes tell, and knows what to tell them. A pure
/// value.
class RoundDesk {
 public:
  RoundDesk(int round, std::vector<NodeGroup> groups, std::vector<int> ranks);

  /// True where word() has changed.
  [[nodiscard]] bool take(int seat, const NodeRound& told);
  [[nodiscard]] const RoundWord& word() const { return word_; }

  /// In the order of the groups; to be asked when the round is over on every node.
  [[nodiscard]] std::vector<GroupResult> results() const;

 private:
  bool conclude(std::size_t group);

  RoundWord word_;
  std::vector<int> ranks_;
  std::map<int, NodeRound> told_;
  std::vector<int> order_;  ///< seats in the order in which their troubles or verdicts came
};

}  // namespace safelaunch::probe
