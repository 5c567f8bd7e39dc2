#pragma once

#include <cstddef>

/// The part of NVIDIA's driver API that we use, under NVIDIA's names, so that nothing of NVIDIA's
/// is needed to build: libcuda.so.1 is opened at run time. Names, values and signatures are those
/// of cuda.h (CUDA 13.5), and have been the same since CUDA 11. A name with an ending (_v2) is the
/// one that the library exports, to which cuda.h leads by a macro.
/// tests/unit/gpu/api compares all of it with the real header.
///
/// The enumerations hold the values that we use. They have a fixed type, since a library may answer
/// with any other.

// NOLINTBEGIN(readability-identifier-naming): the names are NVIDIA's.
using CUdevice = int;
using CUdeviceptr = unsigned long long;
using CUcontext = struct CUctx_st*;
using CUstream = struct CUstream_st*;
using CUevent = struct CUevent_st*;

enum cudaError_enum : unsigned {
  CUDA_SUCCESS = 0,
  CUDA_ERROR_INVALID_VALUE = 1,
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NOT_INITIALIZED = 3,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_INVALID_DEVICE = 101,
  CUDA_ERROR_INVALID_CONTEXT = 201,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_NOT_FOUND = 500,
  CUDA_ERROR_NOT_READY = 600,
  CUDA_ERROR_NOT_SUPPORTED = 801,
};
using CUresult = cudaError_enum;

enum CUdevice_attribute_enum : unsigned {
  CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1,
  CU_DEVICE_ATTRIBUTE_WARP_SIZE = 10,
  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
  CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
  CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS = 31,
  CU_DEVICE_ATTRIBUTE_PCI_BUS_ID = 33,
  CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID = 34,
  CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41,
  CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID = 50,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
  CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
  CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED = 102,
  CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED = 103,
};
using CUdevice_attribute = CUdevice_attribute_enum;

enum CUcomputemode_enum : unsigned { CU_COMPUTEMODE_DEFAULT = 0 };
enum CUstream_flags_enum : unsigned { CU_STREAM_NON_BLOCKING = 1 };
enum CUevent_flags_enum : unsigned { CU_EVENT_DEFAULT = 0 };

extern "C" {

CUresult cuInit(unsigned flags);
CUresult cuDriverGetVersion(int* version);
CUresult cuGetErrorName(CUresult error, const char** name);
CUresult cuGetErrorString(CUresult error, const char** text);

CUresult cuDeviceGetCount(int* count);
CUresult cuDeviceGet(CUdevice* device, int ordinal);
CUresult cuDeviceGetName(char* name, int length, CUdevice device);
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device);

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device);
CUresult cuCtxSetCurrent(CUcontext context);
CUresult cuCtxSynchronize();

CUresult cuMemGetInfo_v2(std::size_t* free, std::size_t* total);
CUresult cuMemAlloc_v2(CUdeviceptr* address, std::size_t size);
CUresult cuMemsetD32_v2(CUdeviceptr address, unsigned value, std::size_t count);
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, std::size_t size);
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, std::size_t size);

CUresult cuStreamCreate(CUstream* stream, unsigned flags);
CUresult cuStreamQuery(CUstream stream);
CUresult cuStreamSynchronize(CUstream stream);
CUresult cuEventCreate(CUevent* event, unsigned flags);
CUresult cuEventRecord(CUevent event, CUstream stream);
CUresult cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end);

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
