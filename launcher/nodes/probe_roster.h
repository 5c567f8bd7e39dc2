#pragma once

#include <map>
#include <set>

#include "safelaunch/agree/board.h"
#include "safelaunch/nodes/node_probe.h"

namespace safelaunch::nodes {

/// The nodes of a probe, as node 0 knows them once all have come.
struct Roster {
  ProbedNodes nodes{};
  std::string differ{};     ///< the line of other_profiles(), for which the probe ends; empty: none
  probe::NodeGroup able{};  ///< the nodes that can take part
  probe::IllNodes ill{};    ///< the nodes that cannot take part, and why
};
/// `standings` are those of the other nodes.
[[nodiscard]] Roster roster_of(const ProbedNode& here,
                               const std::map<int, agree::Standing>& standings);

/// The number of ranks of each node, by seat.
[[nodiscard]] std::vector<int> ranks_of(const ProbedNodes& nodes);

/// Why a round in which these nodes were lost ends the probe.
[[nodiscard]] std::string lost_in_words(const std::set<int>& lost, const ProbedNodes& nodes);

/// How far this node is in one round, and the meaning of the leader's growing word for its ranks. A
/// pure value.
class RoundHere {
 public:
  RoundHere() = default;
  /// `note` is the leader's word, `ranks` those of each seat.
  RoundHere(int round, std::string_view note, int seat, const std::vector<int>& ranks);

  [[nodiscard]] int round() const { return told_.round; }
  /// nullopt: this node sits the round out.
  [[nodiscard]] const std::optional<probe::PlaceInRound>& place() const { return place_; }
  /// How far this node is, as the leader is told.
  [[nodiscard]] const probe::NodeRound& told() const { return told_; }

  void ready(const std::string& id);
  void measured() { told_.measured = true; }
  void trouble(probe::Trouble trouble) { told_.trouble = trouble; }
  /// Ranks are numbered over all nodes of their group from here on.
  void over(const probe::Outcome& outcome);

  /// The id with which the ranks meet those of the group's other nodes: once.
  [[nodiscard]] std::optional<std::string> id_to_meet(const probe::RoundWord& word);
  /// The ranks of the group's other nodes are through: once.
  [[nodiscard]] bool others_are_over(const probe::RoundWord& word);

 private:
  std::optional<probe::PlaceInRound> place_;
  probe::NodeRound told_;
  bool met_ = false;
  bool others_over_ = false;
};

}  // namespace safelaunch::nodes
