// Variables of device code (__device__, __constant__): each device has memory for each, made when
// it is first asked for.
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "cudart/driver.h"

using namespace safelaunch::testing;

namespace {

// Never freed: libraries tell of their variables before main begins, and use them until it ended.
std::mutex variables_mutex;
auto& sizes = *new std::map<const void*, std::size_t>;
auto& addresses = *new std::map<std::pair<const void*, CUdevice>, CUdeviceptr>;

/// The variable's memory on the current device.
cudaError_t find(const void* variable, CUdeviceptr& address, std::size_t& size) {
  if (const cudaError_t result = with_context(); result != cudaSuccess) return result;
  CUdevice device = 0;
  cuCtxGetDevice(&device);
  const std::lock_guard lock(variables_mutex);
  const auto known = sizes.find(variable);
  if (known == sizes.end()) return told(cudaErrorInvalidSymbol);
  size = known->second;
  CUdeviceptr& memory = addresses[{variable, device}];
  if (memory == 0)
    if (const CUresult result = cuMemAlloc(&memory, size); result != CUDA_SUCCESS)
      return told(result);
  address = memory;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaGetSymbolAddress(void** address, const void* variable) {
  CUdeviceptr memory = 0;
  std::size_t size = 0;
  const cudaError_t result = find(variable, memory, size);
  *address = reinterpret_cast<void*>(memory);
  return result;
}

cudaError_t cudaMemcpyToSymbol(const void* variable, const void* from, std::size_t count,
                               std::size_t offset, cudaMemcpyKind kind) {
  CUdeviceptr memory = 0;
  std::size_t size = 0;
  if (const cudaError_t result = find(variable, memory, size); result != cudaSuccess) return result;
  if (offset > size || count > size - offset) return told(cudaErrorInvalidValue);
  return cudaMemcpy(reinterpret_cast<void*>(memory + offset), from, count, kind);
}

extern "C" void __cudaRegisterVar(void**, char* variable, char*, const char*, int, std::size_t size,
                                  int, int) {
  const std::lock_guard lock(variables_mutex);
  sizes[variable] = size;
}
