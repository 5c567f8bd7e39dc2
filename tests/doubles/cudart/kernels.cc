// Kernels: an object file with device code tells the runtime of it when it is loaded. It is never
// read; a kernel is known by the address of its stub in the host's code, and does nothing.
#include "cudart/driver.h"

using namespace safelaunch::testing;

namespace {

void* no_device_code = nullptr;

}  // namespace

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* stub) {
  *function = reinterpret_cast<cudaFunction_t>(const_cast<void*>(stub));
  return cudaSuccess;
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  *attributes = {};
  attributes->maxThreadsPerBlock = 1024;
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

// The functions that nvcc's host code calls. No header declares them for others.
extern "C" {

void** __cudaRegisterFatBinary(void*) {
  return &no_device_code;
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {}

void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}

char __cudaInitModule(void**) {
  return 1;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* stub) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(stub));
  return cudaSuccess;
}

unsigned __cudaPushCallConfiguration(dim3, dim3, std::size_t, CUstream_st*) {
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3*, dim3*, std::size_t*, void*) {
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** parameters,
                               std::size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, parameters, shared, stream);
}
}
