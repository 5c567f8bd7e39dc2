// Memory of the device and of the host, which here is the same.
#include <sys/mman.h>

#include <cstring>

#include "cudart/driver.h"

using namespace safelaunch::testing;

namespace {

CUdeviceptr device(const void* address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

/// The content of a cudaIpcMemHandle_t.
struct Shared {
  std::size_t size;
};
static_assert(sizeof(Shared) <= sizeof(cudaIpcMemHandle_t));

/// The pool that all pools are: its memory is that of the device.
char pool;

}  // namespace

cudaError_t cudaMalloc(void** memory, std::size_t size) {
  *memory = nullptr;
  if (size == 0) return with_context();
  return in_context([=] { return cuMemAlloc(reinterpret_cast<CUdeviceptr*>(memory), size); });
}

cudaError_t cudaFree(void* memory) {
  return in_context([=] { return cuMemFree(device(memory)); });
}

cudaError_t cudaHostAlloc(void** memory, std::size_t size, unsigned) {
  return told(cuMemAllocHost(memory, size));
}

cudaError_t cudaFreeHost(void* memory) {
  return told(cuMemFreeHost(memory));
}

cudaError_t cudaHostRegister(void*, std::size_t, unsigned) {
  return with_context();
}

cudaError_t cudaHostUnregister(void*) {
  return with_context();
}

cudaError_t cudaHostGetDevicePointer(void** mapped, void* memory, unsigned) {
  *mapped = memory;
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind) {
  return in_context([=] { return cuMemcpyDtoD(device(to), device(from), size); });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  return in_context([=] {
    return kind == cudaMemcpyHostToDevice
               ? cuMemcpyHtoDAsync(device(to), from, size, stream)
               : cuMemcpyDtoDAsync(device(to), device(from), size, stream);
  });
}

cudaError_t cudaMemcpyBatchAsync(void* const* to, const void* const* from, const std::size_t* sizes,
                                 std::size_t count, cudaMemcpyAttributes*, std::size_t*,
                                 std::size_t, cudaStream_t stream) {
  for (std::size_t i = 0; i < count; ++i)
    cudaMemcpyAsync(to[i], from[i], sizes[i], cudaMemcpyDefault, stream);
  return cudaGetLastError();
}

cudaError_t cudaMemset(void* memory, int value, std::size_t size) {
  return in_context(
      [=] { return cuMemsetD8(device(memory), static_cast<unsigned char>(value), size); });
}

cudaError_t cudaMemsetAsync(void* memory, int value, std::size_t size, cudaStream_t stream) {
  return in_context([=] {
    return cuMemsetD8Async(device(memory), static_cast<unsigned char>(value), size, stream);
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* address) {
  *attributes = {};
  int index = 0;
  const CUresult known =
      cuPointerGetAttribute(&index, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device(address));
  const bool on_device = known == CUDA_SUCCESS && index >= 0;
  attributes->type = on_device ? cudaMemoryTypeDevice : cudaMemoryTypeHost;
  attributes->device = on_device ? index : 0;
  attributes->devicePointer = attributes->hostPointer = const_cast<void*>(address);
  return cudaSuccess;
}

// Another process gets memory of the same size and with nothing in it, since only kernels would
// write there.
cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* memory) {
  Shared shared{};
  const CUresult result = cuMemGetAddressRange(nullptr, &shared.size, device(memory));
  *handle = {};
  std::memcpy(handle, &shared, sizeof shared);
  return told(result);
}

cudaError_t cudaIpcOpenMemHandle(void** memory, cudaIpcMemHandle_t handle, unsigned) {
  Shared shared{};
  std::memcpy(&shared, &handle, sizeof shared);
  return cudaMalloc(memory, shared.size);
}

cudaError_t cudaIpcCloseMemHandle(void* memory) {
  return cudaFree(memory);
}

cudaError_t cudaMallocAsync(void** memory, std::size_t size, cudaStream_t) {
  return cudaMalloc(memory, size);
}

cudaError_t cudaMallocFromPoolAsync(void** memory, std::size_t size, cudaMemPool_t, cudaStream_t) {
  return cudaMalloc(memory, size);
}

cudaError_t cudaFreeAsync(void* memory, cudaStream_t) {
  return cudaFree(memory);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* made, const cudaMemPoolProps*) {
  *made = reinterpret_cast<cudaMemPool_t>(&pool);
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t) {
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) {
  return cudaSuccess;
}
