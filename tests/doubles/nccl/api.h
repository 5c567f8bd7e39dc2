#pragma once

#include "nccl/declarations.h"

#include <memory>

#include "nccl/communicator.h"

/// The object behind an ncclComm_t.
struct ncclComm {
  std::shared_ptr<safelaunch::testing::Communicator> body;
  bool blocking = true;
};

namespace safelaunch::testing {

/// ncclSuccess if the communicator takes another call; NCCL's WARN if one is still in progress.
[[nodiscard]] ncclResult_t ready(ncclComm_t comm);

/// The answer to what this double does not do: ncclInvalidUsage and a WARN that names it.
[[nodiscard]] ncclResult_t refused(const char* what);

/// Does `work` at once, or apart if the communicator does not block: then ncclInProgress.
template <class Work>
ncclResult_t do_or_begin(ncclComm_t comm, Work work) {
  if (comm->blocking) return work();
  comm->body->run_apart(std::move(work));
  return ncclInProgress;
}

}  // namespace safelaunch::testing
