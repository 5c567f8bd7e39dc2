#pragma once

#include "safelaunch/nodes/node_probe.h"
#include "safelaunch/probe/node_conclusion.h"

// A probe over several nodes, for people, for programs and as a page. All are made of the same
// values.
namespace safelaunch::cli {

/// The row of a profile over all nodes is one of several ranks.
inline constexpr int kSeveralRanks = 2;

/// A line a node: its GPUs, its NCCL and the interface over which its ranks would meet.
[[nodiscard]] std::string render_nodes(const nodes::ProbedNodes& nodes);

/// The purpose of a round and its result: "pairs under basic: 3 of 4 work (gpu-2 gpu-3 hangs)".
/// Empty for one over all nodes, which has a row of its own.
[[nodiscard]] std::string render_round(const probe::SearchRound& round,
                                       const std::vector<probe::GroupResult>& results,
                                       const std::string& profile, const nodes::ProbedNodes& nodes);

/// "gpu-1", the nodes whose ranks the verdict names; empty where these are all.
[[nodiscard]] std::string where(const probe::GroupResult& result, const nodes::ProbedNodes& nodes);

/// The results of the pairs: node × node, or, where a screen cannot hold that, a line for each pair
/// that does not work. Empty where no pair says more than the row over all nodes.
[[nodiscard]] std::string render_matrix(const nodes::NodeProbeEnd& end);

/// A profile over all nodes, in the table's row, with the nodes that the verdict names.
[[nodiscard]] std::string render_everywhere(const std::string& profile,
                                            const probe::GroupResult& all,
                                            const nodes::ProbedNodes& nodes, std::size_t width);

/// The last lines: the matrix, what it means, and the line to type.
[[nodiscard]] std::string render_end(const nodes::NodeProbeEnd& end,
                                     const probe::NodeConclusion& conclusion);

/// Where the probe came to no result: why, as JSON.
[[nodiscard]] std::string no_result_json(const nodes::NodeProbeEnd& end);

[[nodiscard]] std::string nodes_json(const nodes::NodeProbeEnd& end,
                                     const probe::NodeConclusion& conclusion);

[[nodiscard]] std::string nodes_page(const nodes::NodeProbeEnd& end,
                                     const probe::NodeConclusion& conclusion);

}  // namespace safelaunch::cli
