#pragma once

#include <cstdint>

#include "safelaunch/base/process.h"
#include "safelaunch/base/time.h"
#include "safelaunch/host/process_facts.h"

namespace safelaunch::host {

/// The pids of a user's processes, or of all users where none is given: the cheapest look at the
/// table.
[[nodiscard]] std::vector<int> pids_of(std::optional<unsigned> uid);

/// The processes of this host, for a walk through their tree. The real table is `Procfs`.
class ProcessTable {
 public:
  virtual ~ProcessTable() = default;

  [[nodiscard]] virtual std::optional<ProcessFacts> facts(int pid) const = 0;

  /// The direct children, in no order.
  [[nodiscard]] virtual std::vector<int> children(int pid) const = 0;

  /// Every process of the user, or of all users where none is given.
  [[nodiscard]] virtual std::vector<ProcessFacts> all(std::optional<unsigned> uid) const = 0;
};

/// The table of /proc. It has no state: make one at the place of use.
class Procfs final : public ProcessTable {
 public:
  [[nodiscard]] std::optional<ProcessFacts> facts(int pid) const override;
  [[nodiscard]] std::vector<int> children(int pid) const override;
  [[nodiscard]] std::vector<ProcessFacts> all(std::optional<unsigned> uid) const override;
};

/// The root and everything below it, parents before their children; empty where the root is gone.
/// An orphan is below the process that adopted it, not below the root.
[[nodiscard]] std::vector<ProcessFacts> tree_of(ProcessId root, const ProcessTable& table);

/// The CPU and memory that a process and those below it use.
struct TreeUsage {
  TimePoint at;
  /// The CPU time of the whole tree since each process began, with what children left behind.
  Duration cpu{};
  std::uint64_t memory = 0;  ///< resident bytes of the process itself
  /// Resident bytes of the processes below it; a page that several of them share counts in each.
  std::uint64_t children = 0;
  std::vector<int> pids{};  ///< the pids of the tree, the root first
  Duration age{};           ///< the age of the root
};

/// Reads three short files a process; nullopt where the root is gone.
[[nodiscard]] std::optional<TreeUsage> usage_of(ProcessId root, TimePoint now,
                                                const ProcessTable& table);

/// The resident memory of a process in bytes; 0 where it cannot be read.
[[nodiscard]] std::uint64_t resident_bytes_of(int pid);

/// How many per cent of one CPU the tree has used since its root was started.
[[nodiscard]] int cpu_percent(const TreeUsage& usage);
/// How many per cent of one CPU the tree has used between two looks. A child that nobody waited for
/// takes its time away with it, so a negative difference counts as 0.
[[nodiscard]] int cpu_percent(const TreeUsage& before, const TreeUsage& after);

}  // namespace safelaunch::host
