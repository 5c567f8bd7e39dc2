#pragma once

#include <set>
#include <string>
#include <vector>

#include "safelaunch/host/process_tree.h"

namespace safelaunch::ranks {

/// The Python processes below `root` that may yet come as a rank: none is a rank, has started one,
/// or was started by one. Ray's daemons and multiprocessing's own helpers are left out.
[[nodiscard]] std::vector<int> nameless_below(ProcessId root, const std::set<ProcessId>& ranks,
                                              const host::ProcessTable& table);

/// Whether a Python below `root` has started one of the ranks.
[[nodiscard]] bool python_has_started(const std::set<ProcessId>& ranks, ProcessId root,
                                      const host::ProcessTable& table);

/// "pid 71 (python train.py 1) in train.py:5 load has not said which rank it is"; empty: there is
/// none. One that is stopped is told so. The place is read from its memory, where that can be done.
[[nodiscard]] std::string describe_nameless(const std::vector<int>& pids);

}  // namespace safelaunch::ranks
