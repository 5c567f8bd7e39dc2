#pragma once

#include "safelaunch/gpu/cuda_api.h"

#include "safelaunch/base/result.h"

namespace safelaunch::probe {

/// The calls of libcuda that the probe makes.
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
  decltype(&::cuMemGetInfo_v2) memory_info;
  decltype(&::cuMemAlloc_v2) allocate;
  decltype(&::cuMemsetD32_v2) fill;
  decltype(&::cuMemcpyHtoD_v2) copy_in;
  decltype(&::cuMemcpyDtoH_v2) copy_out;
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
