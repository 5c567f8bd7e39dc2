#pragma once

#include <map>
#include <optional>

#include "safelaunch/base/time.h"
#include "safelaunch/host/process_tree.h"
#include "safelaunch/host/usage.h"
#include "safelaunch/report/status.h"
#include "safelaunch/watch/activity_sampler.h"

namespace safelaunch::cli {

/// Looks at the ranks of a running job on this host, for `status`: reads /proc, and asks the GPU
/// driver by a process of its own. The job does not notice.
class LiveRanks {
 public:
  /// Fills in what the record does not tell. The first look takes half a second, since CPU is told
  /// between two looks.
  void look(report::RunStatus& status);

 private:
  void look_once(const report::RunStatus& status);
  void tell(report::RunStatus& status) const;
  void look_at_gpus();

  struct Seen {
    host::TreeUsage usage;
    report::RankFigures figures;
  };
  host::Procfs table_;
  watch::ActivitySampler sampler_{table_};
  std::map<ProcessId, Seen> seen_;
  std::map<int, ProcessId> ranks_;
  std::optional<TimePoint> asked_gpus_;
  std::vector<report::GpuFigures> gpus_;
  std::map<int, int> held_;  ///< pid -> MiB
};

}  // namespace safelaunch::cli
