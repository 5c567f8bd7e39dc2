// Pools of memory: there is one, and its memory is that of the device. It keeps nothing back, so
// its settings have no effect.
#include "cudart/driver.h"

using namespace safelaunch::testing;

namespace {

char pool;

}  // namespace

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

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* found, int) {
  *found = reinterpret_cast<cudaMemPool_t>(&pool);
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
  const bool is_flag = attribute <= cudaMemPoolReuseAllowInternalDependencies;
  if (is_flag)
    *static_cast<int*>(value) = 1;
  else
    *static_cast<cuuint64_t*>(value) = 0;
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, std::size_t) {
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) {
  return cudaSuccess;
}
