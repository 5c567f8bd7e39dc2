#pragma once

#include "cuda/api.h"

/// NCCL's double tells the driver that the device has failed under one of its kernels. As with CUDA
/// every call of the process gives `result` from then on. An uncorrectable ECC error leaves the
/// device as it is; after any other one it is lost.
extern "C" void cuDoubleBreak(CUresult result);

namespace safelaunch::testing {

/// The result that every call has since the device failed; CUDA_SUCCESS if it did not.
[[nodiscard]] CUresult broken();

}  // namespace safelaunch::testing
