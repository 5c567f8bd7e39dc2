#pragma once

#include "safelaunch/base/result.h"
#include "safelaunch/diagnose/evidence.h"
#include "safelaunch/ranks/node_ranks.h"
#include "safelaunch/ranks/ranks_seen.h"

namespace safelaunch::nodes {

/// The words of a node's attempt, for the leader's diagnosis: the ends of its streams and of
/// NCCL's logs, the status of its command, and remarks. Short enough for a board: where all of it
/// would be too long, the beginnings are left out.
[[nodiscard]] std::string to_text(const diagnose::Evidence& evidence);

/// Adds what another node has said; its sources carry the node's name. Errors: it is nothing of the
/// kind.
[[nodiscard]] Result<void> add_evidence(std::string_view text, const ranks::NodeName& node,
                                        diagnose::Evidence& evidence);

/// Adds the ranks that failed on another node, and are not known to have: nobody here watched them
/// any more, since this node's ranks were through.
void add_failed(int seat, const std::vector<ranks::RankPicture>& ranks, ranks::RanksSeen& seen);

/// Notes the host of each rank that raised or ended on another node; `hosts` is by seat.
void add_hosts(const std::map<int, std::string>& hosts, diagnose::Evidence& evidence);

}  // namespace safelaunch::nodes
