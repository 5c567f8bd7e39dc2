// Kernels: an object file with device code tells the runtime of it when it is loaded. It is never
// read; a kernel is known by the address of its stub in the host's code, and does nothing, unless
// its name is one of those that cudart/torch does in its place.
#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cudart/driver.h"
#include "cudart/torch/kernel.h"

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

// Never freed: libraries tell of their kernels before main begins, and launch them until it ended.
std::mutex mutex;
auto& names = *new std::unordered_map<const void*, const char*>;  // mangled
auto& kernels = *new std::unordered_map<const void*, std::optional<TrueKernel>>;

/// What is done truly for a stub; looked up once.
const std::optional<TrueKernel>& kernel_behind(const void* stub) {
  const std::lock_guard lock(mutex);
  const auto known = kernels.find(stub);
  if (known != kernels.end()) return known->second;
  std::optional<TrueKernel>& kernel = kernels[stub];
  const auto name = names.find(stub);
  if (name == names.end()) return kernel;
  int status = 0;
  char* readable = abi::__cxa_demangle(name->second, nullptr, nullptr, &status);
  if (readable) kernel = true_kernel(readable);
  std::free(readable);
  return kernel;
}

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

cudaError_t cudaLaunchKernel(const void* stub, dim3 grid, dim3, void** parameters, std::size_t,
                             cudaStream_t stream) {
  const auto& kernel = kernel_behind(stub);
  std::function<void()> work;
  if (kernel) work = (*kernel)(parameters, grid);
  if (work) return in_context([&] { return cuDoubleRun(stream, std::move(work)); });
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

void __cudaRegisterFunction(void**, const char* stub, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  const std::lock_guard lock(mutex);
  names[stub] = name;
}

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
