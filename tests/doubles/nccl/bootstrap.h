#pragma once

#include "nccl/declarations.h"

#include <cstdint>
#include <vector>

#include "nccl/interface.h"
#include "nccl/wire.h"

namespace safelaunch::testing {

/// A rank's message to the root, and the root's to all others.
struct Peer {
  int rank;
  int nranks;
  int version;   ///< code of the NCCL that it plays
  int device;    ///< as its CUDA counts
  unsigned bus;  ///< of its GPU, which tells two apart
  std::uint64_t host;
  Address address;  ///< where it listens
  Address ras;      ///< where its process answers RAS
  int pid;
};

/// The ranks of one communicator, each joined with each by a connection.
struct Mesh {
  std::vector<Peer> peers;
  std::vector<UniqueFd> connections;  ///< by rank; the own place is empty
};

/// Opens the root's socket on `interface`, writes its address into `id`, and serves it by a thread:
/// it collects all ranks and tells each of the others. As in NCCL a rank that does not come leaves
/// the others in silence, and one that does not fit ends the root with a single line.
void start_root(const NetworkInterface& interface, ncclUniqueId& id);

/// Checks in with the root and waits, without a limit, until all have come and are connected.
[[nodiscard]] ncclResult_t join(const ncclUniqueId& id, Peer self, Mesh& mesh, const Stop& stop);

/// Returns when all ranks have called it. A rank that has gone is NCCL's "Connection closed".
[[nodiscard]] ncclResult_t barrier(const Mesh& mesh, const Peer& self, const Stop& stop);

/// Every rank's `mine`, by rank.
[[nodiscard]] ncclResult_t gather(const Mesh& mesh, const Peer& self, const std::vector<char>& mine,
                                  std::vector<std::vector<char>>& all, const Stop& stop);

/// NCCL's commId: equal on all ranks, another for each unique id.
[[nodiscard]] std::uint64_t hash_of(const ncclUniqueId& id);

/// Ranks with the same number are on one host: host name and boot id, or NCCL_HOSTID.
[[nodiscard]] std::uint64_t host_hash();

}  // namespace safelaunch::testing
