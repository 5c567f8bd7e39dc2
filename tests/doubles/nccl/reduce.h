#pragma once

#include "nccl/declarations.h"

#include <cstddef>

namespace safelaunch::testing {

/// Bytes of one element; 0 for a type that this double does not know.
[[nodiscard]] std::size_t size_of(ncclDataType_t type);

/// into[i] = into[i] `op` other[i]. An average is a sum until `finish`.
void combine(void* into, const void* other, std::size_t count, ncclDataType_t type, ncclRedOp_t op);

/// Divides a sum by the number of ranks, where an average was asked for.
void finish(void* data, std::size_t count, ncclDataType_t type, ncclRedOp_t op, int nranks);

}  // namespace safelaunch::testing
