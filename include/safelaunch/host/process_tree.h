#pragma once

#include <optional>
#include <vector>

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

/// Those of `processes` that are below `root`, without `root` itself, parents before their
/// children.
[[nodiscard]] std::vector<ProcessFacts> below(int root, const std::vector<ProcessFacts>& processes);

}  // namespace safelaunch::host
