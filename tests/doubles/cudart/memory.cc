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

cudaError_t cudaHostRegister(void* memory, std::size_t size, unsigned flags) {
  return in_context([=] { return cuMemHostRegister(memory, size, flags); });
}

cudaError_t cudaHostUnregister(void* memory) {
  return in_context([=] { return cuMemHostUnregister(memory); });
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  return in_context([=] { return cuMemGetInfo(free, total); });
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

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t size,
                                cudaStream_t stream) {
  return cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, stream);
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from,
                              std::size_t from_pitch, std::size_t width, std::size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  if (width > to_pitch || width > from_pitch) return told(cudaErrorInvalidPitchValue);
  for (std::size_t row = 0; row < height; ++row) {
    const cudaError_t result =
        cudaMemcpyAsync(static_cast<char*>(to) + row * to_pitch,
                        static_cast<const char*>(from) + row * from_pitch, width, kind, stream);
    if (result != cudaSuccess) return result;
  }
  return cudaSuccess;
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
  void* const same = const_cast<void*>(address);
  int index = 0;
  const CUresult known =
      cuPointerGetAttribute(&index, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, device(address));
  attributes->hostPointer = same;
  if (known != CUDA_SUCCESS) return cudaSuccess;  // of the type cudaMemoryTypeUnregistered
  attributes->type = index < 0 ? cudaMemoryTypeHost : cudaMemoryTypeDevice;
  attributes->device = index < 0 ? 0 : index;
  attributes->devicePointer = same;
  if (index >= 0) attributes->hostPointer = nullptr;
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
