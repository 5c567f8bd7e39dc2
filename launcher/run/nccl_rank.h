#pragma once

#include <map>
#include <optional>
#include <string_view>

#include "safelaunch/base/event.h"
#include "safelaunch/nccl/job.h"
#include "safelaunch/watch/stages.h"

namespace safelaunch::run {

/// Where to look for the rank of a process that NCCL names.
struct KnownRanks {
  const std::map<ProcessId, Rank>& hooked;   ///< as their Python hooks say
  const std::map<ProcessId, Rank>& plugged;  ///< as NCCL's plugins say
  const watch::Stages& stages;
  std::string_view log_file;  ///< NCCL_DEBUG_FILE as the job was given it
};

/// Whom NCCL's log speaks of: as its hook or plugin says, as we spawned it, as its environment
/// says; else by its rank in the communicator, where that is the whole job's. In a container the
/// pid may be a stranger's here: only who was told to write this log counts. Reads /proc.
[[nodiscard]] std::optional<RankStarted> rank_of(const nccl::ProcessName& who,
                                                 const std::optional<nccl::Part>& part,
                                                 const KnownRanks& known);

}  // namespace safelaunch::run
