#pragma once

#include "cuda/api.h"
#include "cuda/broken.h"

namespace safelaunch::testing {

/// The calls of libcuda.so.1 that the double needs, opened when the first communicator is made, as
/// NCCL does it.
struct Driver {
  decltype(&cuInit) init = nullptr;
  decltype(&cuDriverGetVersion) version = nullptr;
  decltype(&cuDeviceGetAttribute) attribute = nullptr;
  decltype(&cuCtxGetCurrent) current = nullptr;
  decltype(&cuCtxSetCurrent) set_current = nullptr;
  decltype(&cuCtxGetDevice) device = nullptr;
  decltype(&cuDevicePrimaryCtxRetain) retain = nullptr;
  decltype(&cuMemAlloc_v2) allocate = nullptr;
  decltype(&cuMemFree_v2) free = nullptr;
  decltype(&cuGetErrorString) error_text = nullptr;
  decltype(&cuDoubleBreak) fail = nullptr;
  decltype(&cuStreamIsCapturing) is_capturing = nullptr;
  decltype(&cuStreamQuery) query = nullptr;
  decltype(&cuLaunchHostFunc) launch = nullptr;

  [[nodiscard]] bool found() const { return launch != nullptr; }
};

[[nodiscard]] const Driver& driver();

/// The calling thread's context; as the CUDA runtime does, that of device 0 where none is set. Null
/// if the driver does not work.
[[nodiscard]] CUcontext context_of_caller();

/// CUDA's device of the calling thread, 0 where it cannot be told.
[[nodiscard]] int device_of_caller();

}  // namespace safelaunch::testing
