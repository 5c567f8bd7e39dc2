// The properties of a device are its attributes once more.
#include <cstring>

#include "cudart/driver.h"

using namespace safelaunch::testing;

namespace {

int attribute(cudaDeviceAttr wanted, int device) {
  int value = 0;
  cuDeviceGetAttribute(&value, static_cast<CUdevice_attribute>(wanted), device);
  return value;
}

void describe_size(cudaDeviceProp& properties, int device) {
  const auto get = [device](cudaDeviceAttr wanted) { return attribute(wanted, device); };
  properties.major = get(cudaDevAttrComputeCapabilityMajor);
  properties.minor = get(cudaDevAttrComputeCapabilityMinor);
  properties.multiProcessorCount = get(cudaDevAttrMultiProcessorCount);
  properties.warpSize = get(cudaDevAttrWarpSize);
  properties.maxThreadsPerBlock = get(cudaDevAttrMaxThreadsPerBlock);
  properties.maxThreadsPerMultiProcessor = get(cudaDevAttrMaxThreadsPerMultiProcessor);
  properties.maxBlocksPerMultiProcessor = get(cudaDevAttrMaxBlocksPerMultiprocessor);
  properties.maxThreadsDim[0] = get(cudaDevAttrMaxBlockDimX);
  properties.maxThreadsDim[1] = get(cudaDevAttrMaxBlockDimY);
  properties.maxThreadsDim[2] = get(cudaDevAttrMaxBlockDimZ);
  properties.maxGridSize[0] = get(cudaDevAttrMaxGridDimX);
  properties.maxGridSize[1] = get(cudaDevAttrMaxGridDimY);
  properties.maxGridSize[2] = get(cudaDevAttrMaxGridDimZ);
  properties.regsPerBlock = get(cudaDevAttrMaxRegistersPerBlock);
  properties.regsPerMultiprocessor = get(cudaDevAttrMaxRegistersPerMultiprocessor);
}

void describe_memory(cudaDeviceProp& properties, int device) {
  const auto get = [device](cudaDeviceAttr wanted) { return attribute(wanted, device); };
  const auto bytes = [&](cudaDeviceAttr wanted) { return static_cast<std::size_t>(get(wanted)); };
  properties.sharedMemPerBlock = bytes(cudaDevAttrMaxSharedMemoryPerBlock);
  properties.sharedMemPerBlockOptin = bytes(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  properties.sharedMemPerMultiprocessor = bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
  properties.reservedSharedMemPerBlock = bytes(cudaDevAttrReservedSharedMemoryPerBlock);
  properties.totalConstMem = bytes(cudaDevAttrTotalConstantMemory);
  properties.memPitch = bytes(cudaDevAttrMaxPitch);
  properties.textureAlignment = bytes(cudaDevAttrTextureAlignment);
  properties.l2CacheSize = get(cudaDevAttrL2CacheSize);
  properties.memoryBusWidth = get(cudaDevAttrGlobalMemoryBusWidth);
  properties.ECCEnabled = get(cudaDevAttrEccEnabled);
}

void describe_abilities(cudaDeviceProp& properties, int device) {
  const auto get = [device](cudaDeviceAttr wanted) { return attribute(wanted, device); };
  properties.pciBusID = get(cudaDevAttrPciBusId);
  properties.asyncEngineCount = get(cudaDevAttrAsyncEngineCount);
  properties.canMapHostMemory = get(cudaDevAttrCanMapHostMemory);
  properties.concurrentKernels = get(cudaDevAttrConcurrentKernels);
  properties.unifiedAddressing = get(cudaDevAttrUnifiedAddressing);
  properties.streamPrioritiesSupported = get(cudaDevAttrStreamPrioritiesSupported);
  properties.globalL1CacheSupported = get(cudaDevAttrGlobalL1CacheSupported);
  properties.localL1CacheSupported = get(cudaDevAttrLocalL1CacheSupported);
  properties.computePreemptionSupported = get(cudaDevAttrComputePreemptionSupported);
  properties.canUseHostPointerForRegisteredMem = get(cudaDevAttrCanUseHostPointerForRegisteredMem);
  properties.cooperativeLaunch = get(cudaDevAttrCooperativeLaunch);
  properties.hostRegisterSupported = get(cudaDevAttrHostRegisterSupported);
  properties.memoryPoolsSupported = get(cudaDevAttrMemoryPoolsSupported);
  properties.clusterLaunch = get(cudaDevAttrClusterLaunch);
}

}  // namespace

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  *properties = {};
  if (const cudaError_t result = with_context(); result != cudaSuccess) return result;
  describe_size(*properties, device);
  describe_memory(*properties, device);
  describe_abilities(*properties, device);
  CUuuid uuid;
  cuDeviceGetUuid(&uuid, device);
  std::memcpy(properties->uuid.bytes, uuid.bytes, sizeof properties->uuid.bytes);
  cuDeviceTotalMem(&properties->totalGlobalMem, device);
  return told(cuDeviceGetName(properties->name, sizeof properties->name, device));
}
