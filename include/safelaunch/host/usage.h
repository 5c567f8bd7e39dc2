#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "safelaunch/base/process.h"
#include "safelaunch/base/time.h"
#include "safelaunch/host/process_tree.h"

namespace safelaunch::host {

/// The CPU and memory that a process and those below it use.
struct TreeUsage {
  TimePoint at;
  Duration cpu{};  ///< of the whole tree since each process began, with what children left behind
  std::uint64_t memory = 0;    ///< resident bytes of the process itself
  std::uint64_t children = 0;  ///< of those below it; a page that several of them share counts in
                               ///< each
  std::vector<int> pids{};     ///< the tree's, the root first
  Duration age{};              ///< of the root
};

/// Reads three short files a process; nullopt where the root is gone.
[[nodiscard]] std::optional<TreeUsage> usage_of(ProcessId root, TimePoint now,
                                                const ProcessTable& table);

/// The resident memory of a process in bytes; 0 where it cannot be read.
[[nodiscard]] std::uint64_t resident_bytes_of(int pid);

/// How many per cent of one CPU the tree has used since its root was started.
[[nodiscard]] int cpu_percent(const TreeUsage& usage);
/// The same between two looks. A child that nobody waited for
/// takes its time away with it, so it is never less than nothing.
[[nodiscard]] int cpu_percent(const TreeUsage& before, const TreeUsage& after);

}  // namespace safelaunch::host
