#pragma once

#include <cuda.h>

#include "safelaunch/base/result.h"

namespace safelaunch::probe {

/// The calls of libcuda that the probe makes, by their exported names: cuda.h's own spellings are
/// macros for versioned ones, which dlsym does not know.
struct CudaDriver {
  decltype(&::cuInit) init;
  decltype(&::cuDriverGetVersion) version;
  decltype(&::cuDeviceGetCount) device_count;
  decltype(&::cuDeviceGet) device;
  decltype(&::cuDeviceGetName) device_name;
  decltype(&::cuDeviceGetAttribute) device_attribute;
  decltype(&::cuDevicePrimaryCtxRetain) retain_context;
  decltype(&::cuCtxSetCurrent) use_context;
  decltype(&::cuCtxSynchronize) synchronize;
  decltype(&::cuMemGetInfo) memory_info;
  decltype(&::cuMemAlloc) allocate;
  decltype(&::cuMemsetD32) fill;
  decltype(&::cuMemcpyHtoD) copy_in;
  decltype(&::cuMemcpyDtoH) copy_out;
  decltype(&::cuStreamCreate) create_stream;
  decltype(&::cuStreamQuery) query_stream;
  decltype(&::cuEventCreate) create_event;
  decltype(&::cuEventRecord) record_event;
  decltype(&::cuEventElapsedTime) elapsed;
  decltype(&::cuGetErrorName) error_name;
  decltype(&::cuGetErrorString) error_string;

  /// Opens libcuda.so.1; nothing is called yet.
  [[nodiscard]] static Result<CudaDriver> open();

  /// Nothing, or "cuInit: CUDA_ERROR_NO_DEVICE (100): no CUDA-capable device is detected".
  [[nodiscard]] Result<void> check(CUresult result, const char* call) const;
};

}  // namespace safelaunch::probe
