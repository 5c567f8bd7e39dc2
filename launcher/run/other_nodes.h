#pragma once

#include <map>
#include <set>

#include "attempt_record.h"
#include "run_machine.h"
#include "safelaunch/agree/decision.h"
#include "safelaunch/nodes/mesh.h"
#include "safelaunch/ranks/node_ranks.h"

/// The leader's conclusions from the news of the other nodes. Values only.
namespace safelaunch::run {

/// The leader's knowledge of another node.
struct OtherNode {
  ranks::NodeName name;
  bool heard = true;
  agree::NodeNews news;
};
/// The other nodes by their seats.
using OtherNodes = std::map<int, OtherNode>;

/// The leader's own node.
struct LeadersNode {
  std::string host;
  const agree::NodeNews& news;
};

/// How many ranks each of `nodes` nodes starts under this profile.
[[nodiscard]] std::vector<int> workers_of_nodes(int nodes, const agree::NodeNews& here,
                                                const OtherNodes& others,
                                                const profile::Profile& profile);

[[nodiscard]] nodes::Mesh mesh_of(const LeadersNode& here, const OtherNodes& others);

/// Compares the nodes: the findings of each, the facts in which they differ, and how they reach
/// each other.
[[nodiscard]] NodesReady compare_nodes(const LeadersNode& here, const OtherNodes& others);

/// The host of one that was never heard of is empty.
[[nodiscard]] std::vector<ranks::NodeName> names_of(const std::set<int>& seats,
                                                    const LeadersNode& here,
                                                    const OtherNodes& others);

/// For the agents of other nodes: 0 where this one did not fail by itself, else what it would end
/// with alone.
[[nodiscard]] int status_for_others(const AttemptRecord& record,
                                    const diagnose::Evidence& evidence);

/// Adds to the record of an attempt that went well here, or was ended for another node's sake, how
/// it ended there.
void take_end_of(const std::vector<OtherNode>& others, int attempt, AttemptRecord& record);

/// Adds what the other nodes have said of their attempt, and their names. Text that cannot be read
/// is left out, and the lines that are returned tell of it.
[[nodiscard]] std::vector<std::string> add_words_of(const std::vector<OtherNode>& others,
                                                    diagnose::Evidence& evidence);

/// The end of an attempt for which no rank is to blame.
struct EndOfNodes {
  int exit_code = 0;
  std::string why;
  bool operator==(const EndOfNodes&) const = default;
};
/// nullopt: all nodes have started their ranks, and none is `lost`. `by_slurm`: it started the job,
/// and can leave nodes out of the next one.
[[nodiscard]] std::optional<EndOfNodes> end_of_nodes(const std::vector<OtherNode>& others,
                                                     const std::vector<ranks::NodeName>& lost,
                                                     bool by_slurm);

}  // namespace safelaunch::run
