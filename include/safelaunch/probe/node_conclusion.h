#pragma once

#include <map>

#include "safelaunch/probe/node_search.h"

namespace safelaunch::probe {

/// The meaning of a probe over several nodes, in words.
struct NodeConclusion {
  std::vector<std::string> sentences;  ///< the most important first
  std::string use;                     ///< the line to type; empty where there is none
  /// 0 a profile works over all nodes, 1 none does, or a node or link is bad, 124 all hang, 69 it
  /// cannot be told.
  int exit_code = 69;
};

/// `hosts`: by seat. `excludes_by_name`: the program that starts the job on the nodes (Slurm) can
/// leave one out by its name.
[[nodiscard]] NodeConclusion conclude(const SearchFindings& findings, const NodeGroup& nodes,
                                      const std::map<int, std::string>& hosts,
                                      bool excludes_by_name);

/// "works", "fails", "hangs", "slow", "untold": of a pair, for tables.
[[nodiscard]] const char* word_for(const Verdict& verdict);

}  // namespace safelaunch::probe
