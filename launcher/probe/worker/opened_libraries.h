#pragma once

#include "safelaunch/base/result.h"
#include "safelaunch/gpu/cuda_api.h"
#include "safelaunch/gpu/nccl_api.h"

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

/// The calls of libnccl that the probe makes. All are there from 2.18 on.
struct NcclLibrary {
  decltype(&::ncclGetVersion) version;
  decltype(&::ncclGetUniqueId) unique_id;
  decltype(&::ncclCommInitRankConfig) init_rank;
  decltype(&::ncclCommGetAsyncError) async_error;
  decltype(&::ncclCommAbort) abort;
  decltype(&::ncclAllReduce) all_reduce;
  decltype(&::ncclGetErrorString) error_string;
  decltype(&::ncclGetLastError) last_error;

  [[nodiscard]] static Result<NcclLibrary> open(const std::string& file);

  /// "2.28.9".
  [[nodiscard]] Result<std::string> version_text() const;

  /// Nothing for ncclSuccess and ncclInProgress; else "ncclAllReduce: unhandled system error (2):
  /// …" with what NCCL says of its last error.
  [[nodiscard]] Result<void> check(ncclResult_t result, const char* call) const;
};

}  // namespace safelaunch::probe
