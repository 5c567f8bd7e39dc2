#pragma once

#include <functional>
#include <map>

#include "safelaunch/plan/plan.h"
#include "safelaunch/probe/node_search.h"
#include "safelaunch/probe/session.h"

namespace safelaunch::nodes {

/// A node's account of itself before the first round.
struct ProbedNode {
  std::string host{};
  int ranks = 0;
  std::string gpus{};        ///< the node's GPUs in words: "8 GPUs (NVIDIA H100 80GB HBM3)"
  std::string cuda{};        ///< the newest CUDA that its driver runs
  std::string nccl{};        ///< the version of its NCCL
  std::string interface {};  ///< the interface over which its ranks would meet
  std::string address{};     ///< the address of that interface
  std::string profiles{};    ///< the profiles that it was asked to probe: "basic, no-shm"
  std::string trouble{};     ///< why it cannot take part; empty: it can
  bool operator==(const ProbedNode&) const = default;
};

/// The nodes of a probe by their seats.
using ProbedNodes = std::map<int, ProbedNode>;

/// A line about the first node that was asked to probe other profiles than node 0; empty: none was.
[[nodiscard]] std::string other_profiles(const ProbedNodes& nodes);

[[nodiscard]] std::string to_text(const ProbedNode& node);
/// Reads a node's account, and leaves out the fields that are wrong.
[[nodiscard]] ProbedNode probed_node_from(std::string_view text);

/// A probe over several nodes, as this one takes part in it.
struct NodeProbePlan {
  plan::PartyPlan party;
  std::string token_file;
  Environment environment;  ///< the user's environment
  ProbedNode here;
  std::vector<probe::SearchProfile> profiles;
  /// The probe of this node's ranks under a profile. Errors: there is no such profile here.
  std::function<Result<probe::Spec>(const std::string& profile, const probe::Part& part)> spec;
};

/// How a probe over several nodes ended here.
struct NodeProbeEnd {
  int exit_code = 69;
  std::string why;     ///< the reason in words, the same on every node
  bool leads = false;  ///< the rest is known: this is node 0, and the search came to its end
  ProbedNodes nodes{};
  probe::NodeGroup took_part{};  ///< the nodes that could take part
  probe::SearchFindings findings{};
};

/// Hears of a probe over several nodes while it goes on.
class NodeProbeListener {
 public:
  virtual void say(const std::string& line) = 0;
  /// To node 0: all nodes are there.
  virtual void nodes_met(const ProbedNodes& nodes) = 0;
  /// To node 0: a round is over on all nodes.
  virtual void round_over(const probe::SearchRound& round,
                          const std::vector<probe::GroupResult>& results) = 0;

 protected:
  ~NodeProbeListener() = default;
};

/// Meets the agents of the other nodes, lets ranks of all of them all_reduce round after round as
/// node 0's NodeSearch wants it, and ends on all nodes with one status. To be called in the
/// supervisor half of the program, once. Errors: no token, no board.
[[nodiscard]] Result<NodeProbeEnd> probe_over_nodes(const NodeProbePlan& plan,
                                                    NodeProbeListener& listener);

}  // namespace safelaunch::nodes
