#pragma once

#include "nccl/declarations.h"

#include <array>
#include <cstddef>

namespace safelaunch::testing {

/// What a PreMulSum multiplies each rank's values by: one element of their type, in memory of the
/// device that is read when the kernel runs, or known since the operation was made.
struct Factor {
  const void* on_device = nullptr;
  std::array<char, 8> value{};

  [[nodiscard]] const void* data() const { return on_device ? on_device : value.data(); }
};

/// Bytes of one element; 0 for a type that this double does not know.
[[nodiscard]] std::size_t size_of(ncclDataType_t type);

/// into[i] = into[i] `op` other[i]. An average is a sum until `finish`.
void combine(void* into, const void* other, std::size_t count, ncclDataType_t type, ncclRedOp_t op);

/// data[i] = data[i] * factor.
void scale(void* data, std::size_t count, ncclDataType_t type, const Factor& factor);

/// Divides a sum by the number of ranks, where an average was asked for.
void finish(void* data, std::size_t count, ncclDataType_t type, ncclRedOp_t op, int nranks);

}  // namespace safelaunch::testing
