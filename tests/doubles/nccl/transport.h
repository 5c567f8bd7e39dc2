#pragma once

#include "nccl/declarations.h"

#include <string>

#include "safelaunch/base/unique_fd.h"

namespace safelaunch::testing {

/// How the ranks of a communicator reach each other.
enum class Path { p2p, shm, net };

/// The path that NCCL would take: P2P between GPUs of one host, unless NCCL_P2P_DISABLE; then
/// shared memory, unless NCCL_SHM_DISABLE; then the network. The fault `shm-small` is a machine
/// without P2P, `ib` one where every GPU has its own node.
[[nodiscard]] Path path_between(bool same_host);

/// The network that NCCL_NET, NCCL_IB_DISABLE and the fault `ib` leave: "IB", "Socket", or "" if
/// the one that was asked for does not exist.
[[nodiscard]] std::string network_name();

/// Makes what the path needs, with the faults that belong to it: the segment in /dev/shm (or its
/// proxy's pool, for the network), InfiniBand's queues. `held` keeps a segment's memory taken.
[[nodiscard]] ncclResult_t set_up(Path path, int device, UniqueFd& held);

}  // namespace safelaunch::testing
