#pragma once

#include <map>
#include <string_view>

#include "safelaunch/plan/plan.h"

namespace safelaunch::nodes {

/// The facts that the nodes of one job should have alike, by a name for people: the command, the
/// script's content, the versions of Python, torch, NCCL and the driver, the variables of NCCL and
/// gloo, the profiles. A fact that cannot be found here is left out.
using NodeFacts = std::map<std::string, std::string>;

/// The facts of this node. Reads files; asks no driver and starts nothing.
[[nodiscard]] NodeFacts facts_of(const plan::RunPlan& plan);

[[nodiscard]] std::string to_text(const NodeFacts& facts);
/// Reads the facts of a node, and leaves out everything else.
[[nodiscard]] NodeFacts facts_from(std::string_view text);

/// A line for each fact in which nodes differ: "nodes differ in torch: 2.13.0 on gpu-01 gpu-02,
/// 2.12.1 on gpu-17". Nodes that do not tell a fact differ in nothing.
[[nodiscard]] std::vector<std::string> differences(const std::map<std::string, NodeFacts>& by_host);

}  // namespace safelaunch::nodes
