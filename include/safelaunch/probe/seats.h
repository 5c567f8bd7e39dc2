#pragma once

#include <optional>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/nccl/version.h"

namespace safelaunch::probe {

/// The GPU on which one rank of a probe runs, and its environment.
struct RankSeat {
  int device = 0;  ///< the GPU's ordinal among the visible ones
  Environment environment;
};

/// Seats for so many ranks on so many GPUs. `applied` is the environment of the job under the
/// profile; what must be the probe's own (NCCL's log, no blocking, no RAS) is put over it.
///
/// NCCL refuses two ranks on one GPU. Where there are more ranks than GPUs it is therefore told to
/// allow it (from 2.30 on, two a GPU), or each rank is made a node of its own, so that they meet
/// over sockets: then the probe tells nothing of links between GPUs, but all the rest.
[[nodiscard]] std::vector<RankSeat> seat_ranks(int ranks, int gpus,
                                               const std::optional<nccl::Version>& nccl,
                                               const Environment& applied);

}  // namespace safelaunch::probe
