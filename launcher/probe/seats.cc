#include "safelaunch/probe/seats.h"

#include <string>

#include "safelaunch/base/format.h"

namespace safelaunch::probe {
namespace {

/// NCCL's WARN lines go to the stderr of the rank, which safelaunch keeps: no file is needed, and
/// none is lost by a crash.
void make_probes_own(Environment& environment) {
  environment["NCCL_DEBUG"] = "WARN";
  environment["NCCL_DEBUG_FILE"] = "/dev/stderr";
  environment["NCCL_COMM_BLOCKING"] = "0";  // it beats what the program asks for
  environment["NCCL_RAS_ENABLE"] = "0";     // its port belongs to the job
  for (const char* name : {"NCCL_DEBUG_SUBSYS", "NCCL_COMM_ID", "NCCL_HOSTID"})
    environment.erase(name);
}

/// The kernels of all ranks must be on the GPU at the same time.
constexpr const char* kFewKernels = "2";

void share_by_permission(Environment& environment) {
  environment["NCCL_MULTI_RANK_GPU_ENABLE"] = "1";
  environment["NCCL_NVLS_ENABLE"] = "0";  // its test of the several ranks is wrong: init would fail
  environment["NCCL_MAX_CTAS"] = kFewKernels;
}

void share_as_node(Environment& environment, int rank) {
  environment["NCCL_HOSTID"] = fmt::format("safelaunch-probe-{}", rank);
  environment["NCCL_NET"] = "Socket";
  environment["NCCL_MNNVL_ENABLE"] = "0";  // would see through the host ids
  environment["NCCL_NVLS_ENABLE"] = "0";
  environment["NCCL_MAX_CTAS"] = kFewKernels;
  environment.try_emplace("NCCL_SOCKET_IFNAME", "lo");  // one that is set is what is probed
}

constexpr nccl::Version kSharesByPermission{2, 30, 0};
constexpr int kMostByPermission = 2;  // as documented

}  // namespace

std::vector<RankSeat> seat_ranks(int ranks, int gpus, const std::optional<nccl::Version>& nccl,
                                 const Environment& applied) {
  const bool shared = ranks > gpus;
  const bool few = ranks <= gpus * kMostByPermission;
  const bool by_permission = few && nccl && *nccl >= kSharesByPermission;
  std::vector<RankSeat> seats;
  for (int rank = 0; rank < ranks; ++rank) {
    RankSeat seat{rank % gpus, applied};
    make_probes_own(seat.environment);
    if (shared && by_permission) share_by_permission(seat.environment);
    if (shared && !by_permission) share_as_node(seat.environment, rank);
    seats.push_back(std::move(seat));
  }
  return seats;
}

}  // namespace safelaunch::probe
