#pragma once

#include "nccl/declarations.h"

#include <cstddef>
#include <optional>
#include <vector>

#include "nccl/bootstrap.h"
#include "nccl/reduce.h"

namespace safelaunch::testing {

/// One call of the application: a collective, or one side of a point-to-point.
struct Operation {
  enum class Kind {
    all_reduce,
    reduce,
    broadcast,
    all_gather,
    reduce_scatter,
    all_to_all,
    gather,
    scatter,
    send,
    receive
  } kind;
  const char* name;  ///< as NCCL writes it: AllReduce
  const void* input;
  void* output;
  std::size_t count;
  ncclDataType_t type;
  ncclRedOp_t op = ncclSum;
  int root = 0;                                 ///< or the peer
  std::optional<Factor> factor = std::nullopt;  ///< of a PreMulSum
};

/// Does `operation` on the memory of this process, together with the other ranks of the mesh.
[[nodiscard]] Ended perform(const Operation& operation, const Mesh& mesh, const Peer& self,
                            const Stop& stop);

/// Sends and receives of one group, all at once.
[[nodiscard]] Ended perform_together(const std::vector<Operation>& pairs, const Mesh& mesh,
                                     const Peer& self, const Stop& stop);

}  // namespace safelaunch::testing
