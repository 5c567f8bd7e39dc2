// Kernels: an object file with device code tells the runtime of it when it is loaded. It is never
// read; a kernel is known by the address of its stub in the host's code, and does nothing.
#include <algorithm>
#include <vector>

#include "cudart/driver.h"

using namespace safelaunch::testing;

namespace {

void* no_device_code = nullptr;

/// The part of a launch that stands within <<<…>>>. The host's code gives it before the stub takes
/// it back.
struct Configuration {
  dim3 grid;
  dim3 block;
  std::size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

}  // namespace

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* stub) {
  *function = reinterpret_cast<cudaFunction_t>(const_cast<void*>(stub));
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
  attributes->numRegs = 32;
  attributes->maxDynamicSharedSizeBytes = 227 << 10;
  attributes->binaryVersion = attributes->ptxVersion = 90;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t, cudaStream_t stream) {
  return in_context(
      [=] { return cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr); });
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* stub,
                                void** parameters) {
  return cudaLaunchKernel(stub, config->gridDim, config->blockDim, parameters,
                          config->dynamicSmemBytes, config->stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* stub, dim3 grid, dim3 block, void** parameters,
                                        std::size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(stub, grid, block, parameters, shared, stream);
}

// What a kernel without registers and shared memory of its own could have: full multiprocessors.
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads,
                                                          std::size_t) {
  if (threads < 1 || threads > 1024) return told(cudaErrorInvalidValue);
  *blocks = std::min(2048 / threads, 32);
  return with_context();
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* stub,
                                                                   int threads, std::size_t shared,
                                                                   unsigned) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, stub, threads, shared);
}

// Device code that a program loads by itself is never run: it says so itself.
cudaError_t cudaLibraryLoadData(cudaLibrary_t*, const void*, cudaJitOption*, void**, unsigned,
                                cudaLibraryOption*, void**, unsigned) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaLibraryUnload(cudaLibrary_t) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t*, cudaLibrary_t, const char*) {
  return told(cudaErrorNotSupported);
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t, cudaFuncAttribute, int, int) {
  return cudaSuccess;
}

// The functions that nvcc's host code calls. No header declares them for others.
extern "C" {

void** __cudaRegisterFatBinary(void*) {
  return &no_device_code;
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {}

char __cudaInitModule(void**) {
  return 1;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(stub));
  return cudaSuccess;
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                     CUstream_st* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  if (configurations.empty()) return cudaErrorMissingConfiguration;
  const Configuration& last = configurations.back();
  *grid = last.grid;
  *block = last.block;
  *shared = last.shared;
  *static_cast<cudaStream_t*>(stream) = last.stream;
  configurations.pop_back();
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** parameters,
                               std::size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, parameters, shared, stream);
}
}
