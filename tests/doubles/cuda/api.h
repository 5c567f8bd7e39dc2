#pragma once

#include <cstdint>

#include "safelaunch/gpu/cuda_api.h"

/// The further calls of this double, as cuda.h (CUDA 13.5) declares them: safelaunch makes none of
/// them, but torch and NCCL do.

using CUmodule = struct CUmod_st*;
using CUfunction = struct CUfunc_st*;
using CUmemGenericAllocationHandle = unsigned long long;
using CUgraph = struct CUgraph_st*;
using CUgraphNode = struct CUgraphNode_st*;
using CUgraphExec = struct CUgraphExec_st*;
using CUgraphEdgeData = struct CUgraphEdgeData_st;
using CUhostFn = void (*)(void* data);
using cuuint64_t = std::uint64_t;

struct CUuuid_st {
  char bytes[16];
};
using CUuuid = CUuuid_st;

/// What the double does not look at.
enum CUfunction_attribute_enum : int {};
using CUfunction_attribute = CUfunction_attribute_enum;
enum CUfunc_cache_enum : int {};
using CUfunc_cache = CUfunc_cache_enum;
enum CUjit_option_enum : int {};
using CUjit_option = CUjit_option_enum;

/// Further attributes of a device.
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = CUdevice_attribute{2};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = CUdevice_attribute{3};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = CUdevice_attribute{4};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = CUdevice_attribute{5};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = CUdevice_attribute{6};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = CUdevice_attribute{7};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK =
    CUdevice_attribute{8};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY =
    CUdevice_attribute{9};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MAX_PITCH = CUdevice_attribute{11};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK =
    CUdevice_attribute{12};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_CLOCK_RATE = CUdevice_attribute{13};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT = CUdevice_attribute{14};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY =
    CUdevice_attribute{19};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_ECC_ENABLED = CUdevice_attribute{32};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE = CUdevice_attribute{36};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH =
    CUdevice_attribute{37};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE = CUdevice_attribute{38};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR =
    CUdevice_attribute{39};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT = CUdevice_attribute{40};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED =
    CUdevice_attribute{78};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED =
    CUdevice_attribute{79};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED =
    CUdevice_attribute{80};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR =
    CUdevice_attribute{81};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR =
    CUdevice_attribute{82};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED =
    CUdevice_attribute{90};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM =
    CUdevice_attribute{91};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = CUdevice_attribute{95};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED =
    CUdevice_attribute{99};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR =
    CUdevice_attribute{106};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK =
    CUdevice_attribute{111};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED =
    CUdevice_attribute{115};
inline constexpr CUdevice_attribute CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH = CUdevice_attribute{120};

/// Further results.
inline constexpr CUresult CUDA_ERROR_DEVICE_UNAVAILABLE = CUresult{46};
inline constexpr CUresult CUDA_ERROR_ECC_UNCORRECTABLE = CUresult{214};
inline constexpr CUresult CUDA_ERROR_UNKNOWN = CUresult{999};
inline constexpr CUresult CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = CUresult{712};
inline constexpr CUresult CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = CUresult{713};
inline constexpr CUresult CUDA_ERROR_ILLEGAL_STATE = CUresult{401};
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED = CUresult{900};
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_INVALIDATED = CUresult{901};
inline constexpr CUresult CUDA_ERROR_STREAM_CAPTURE_UNMATCHED = CUresult{903};

/// Values of a CUstream that are no stream.
#define CU_STREAM_LEGACY reinterpret_cast<CUstream>(0x1)
#define CU_STREAM_PER_THREAD reinterpret_cast<CUstream>(0x2)

enum CUstreamCaptureStatus_enum : unsigned {
  CU_STREAM_CAPTURE_STATUS_NONE = 0,
  CU_STREAM_CAPTURE_STATUS_ACTIVE = 1,
  CU_STREAM_CAPTURE_STATUS_INVALIDATED = 2,
};
using CUstreamCaptureStatus = CUstreamCaptureStatus_enum;
enum CUstreamCaptureMode_enum : unsigned {
  CU_STREAM_CAPTURE_MODE_GLOBAL = 0,
  CU_STREAM_CAPTURE_MODE_RELAXED = 2,
};
using CUstreamCaptureMode = CUstreamCaptureMode_enum;

enum CUdriverProcAddressQueryResult_enum : unsigned {
  CU_GET_PROC_ADDRESS_SUCCESS = 0,
  CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND = 1,
};
using CUdriverProcAddressQueryResult = CUdriverProcAddressQueryResult_enum;

enum CUmemorytype_enum : unsigned { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };

enum CUpointer_attribute_enum : unsigned {
  CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2,
  CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9,
  CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE = 10,
  CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES = 14,
};
using CUpointer_attribute = CUpointer_attribute_enum;

enum CUmemAllocationType_enum : unsigned {};
enum CUmemAllocationHandleType_enum : unsigned { CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR = 1 };
using CUmemAllocationHandleType = CUmemAllocationHandleType_enum;
enum CUmemAllocationGranularity_flags_enum : unsigned {};
using CUmemAllocationGranularity_flags = CUmemAllocationGranularity_flags_enum;
enum CUmemLocationType_enum : unsigned { CU_MEM_LOCATION_TYPE_DEVICE = 1 };

struct CUmemLocation_st {
  CUmemLocationType_enum type;
  int id;
};

struct CUmemAllocationProp_st {
  CUmemAllocationType_enum type;
  CUmemAllocationHandleType requestedHandleTypes;
  CUmemLocation_st location;
  void* win32HandleMetaData;
  unsigned char allocFlags[8];
};
using CUmemAllocationProp = CUmemAllocationProp_st;
using CUmemAccessDesc = struct CUmemAccessDesc_st;

struct CUlaunchConfig_st {
  unsigned gridDimX;
  unsigned gridDimY;
  unsigned gridDimZ;
  unsigned blockDimX;
  unsigned blockDimY;
  unsigned blockDimZ;
  unsigned sharedMemBytes;
  CUstream hStream;
  struct CUlaunchAttribute_st* attrs;
  unsigned numAttrs;
};
using CUlaunchConfig = CUlaunchConfig_st;

extern "C" {

CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status);

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device);
CUresult cuDeviceGetPCIBusId(char* text, int length, CUdevice device);
CUresult cuDeviceGetByPCIBusId(CUdevice* device, const char* text);
CUresult cuDeviceTotalMem_v2(std::size_t* bytes, CUdevice device);
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer);

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device);
CUresult cuDevicePrimaryCtxReset_v2(CUdevice device);
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active);
CUresult cuCtxGetCurrent(CUcontext* context);
CUresult cuCtxPushCurrent_v2(CUcontext context);
CUresult cuCtxPopCurrent_v2(CUcontext* context);
CUresult cuCtxGetDevice(CUdevice* device);
CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags);
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest);

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image);
CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned count,
                            CUjit_option* options, void** values);
CUresult cuModuleUnload(CUmodule module);
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name);
CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, std::size_t* size, CUmodule module,
                              const char* name);
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function);
CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value);
CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache cache);
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                     std::size_t shared);

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void** parameters, void** extra);
CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra);
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data);

CUresult cuMemFree_v2(CUdeviceptr address);
CUresult cuMemAllocHost_v2(void** memory, std::size_t size);
CUresult cuMemHostAlloc(void** memory, std::size_t size, unsigned flags);
CUresult cuMemFreeHost(void* memory);
CUresult cuMemHostRegister_v2(void* memory, std::size_t size, unsigned flags);
CUresult cuMemHostUnregister(void* memory);
CUresult cuMemGetAddressRange_v2(CUdeviceptr* begin, std::size_t* size, CUdeviceptr address);
CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address);
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t size);
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, std::size_t size, CUstream stream);
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, std::size_t size, CUstream stream);
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, std::size_t size, CUstream stream);
CUresult cuMemsetD8_v2(CUdeviceptr address, unsigned char value, std::size_t count);
CUresult cuMemsetD8Async(CUdeviceptr address, unsigned char value, std::size_t count,
                         CUstream stream);
CUresult cuMemsetD32Async(CUdeviceptr address, unsigned value, std::size_t count, CUstream stream);

CUresult cuMemGetAllocationGranularity(std::size_t* granularity, const CUmemAllocationProp* wanted,
                                       CUmemAllocationGranularity_flags flags);
CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, std::size_t size,
                     const CUmemAllocationProp* properties, unsigned long long flags);
CUresult cuMemRelease(CUmemGenericAllocationHandle handle);
CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags);
CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type);
CUresult cuMemAddressReserve(CUdeviceptr* address, std::size_t size, std::size_t alignment,
                             CUdeviceptr wanted, unsigned long long flags);
CUresult cuMemAddressFree(CUdeviceptr address, std::size_t size);
CUresult cuMemMap(CUdeviceptr address, std::size_t size, std::size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long flags);
CUresult cuMemUnmap(CUdeviceptr address, std::size_t size);
CUresult cuMemSetAccess(CUdeviceptr address, std::size_t size, const CUmemAccessDesc* access,
                        std::size_t count);
CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address);
CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle);

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority);
CUresult cuStreamDestroy_v2(CUstream stream);
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags);
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status);
CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode);
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph);
CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                   CUgraph* graph, const CUgraphNode** dependencies,
                                   const CUgraphEdgeData** edges, std::size_t* count);
CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode* dependencies,
                                              const CUgraphEdgeData* edges, std::size_t count,
                                              unsigned flags);
CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, std::size_t* count);
CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph graph,
                                     unsigned long long flags);
CUresult cuGraphLaunch(CUgraphExec executable, CUstream stream);
CUresult cuGraphExecDestroy(CUgraphExec executable);
CUresult cuGraphDestroy(CUgraph graph);
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode);
CUresult cuEventQuery(CUevent event);
CUresult cuEventSynchronize(CUevent event);
CUresult cuEventDestroy_v2(CUevent event);
CUresult cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end);

}  // extern "C"
