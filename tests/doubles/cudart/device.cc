// Devices, versions and errors. The runtime's state is that of the driver: the device of a thread
// is that of its current context.
#include <cstddef>
#include <utility>

#include "cudart/driver.h"

namespace safelaunch::testing {
namespace {

thread_local cudaError_t last_error = cudaSuccess;

cudaError_t start_driver() {
  int version = 0;
  cuDriverGetVersion(&version);
  if (version < CUDART_VERSION / 1000 * 1000) return cudaErrorInsufficientDriver;
  return static_cast<cudaError_t>(cuInit(0));
}

}  // namespace

cudaError_t told(cudaError_t result) {
  if (result != cudaSuccess) last_error = result;
  return result;
}

cudaError_t told(CUresult result) {
  return told(static_cast<cudaError_t>(result));
}

cudaError_t with_context() {
  CUcontext context = nullptr;
  const bool has_one = cuCtxGetCurrent(&context) == CUDA_SUCCESS && context;
  return has_one ? cudaSuccess : cudaSetDevice(0);
}

}  // namespace safelaunch::testing

using namespace safelaunch::testing;

cudaError_t cudaDriverGetVersion(int* version) {
  return told(cuDriverGetVersion(version));
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  return last_error;
}

const char* cudaGetErrorName(cudaError_t error) {
  if (error == cudaErrorInsufficientDriver) return "cudaErrorInsufficientDriver";
  const char* name = nullptr;
  cuGetErrorName(static_cast<CUresult>(error), &name);
  return name ? name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  if (error == cudaErrorInsufficientDriver)
    return "CUDA driver version is insufficient for CUDA runtime version";
  const char* text = nullptr;
  cuGetErrorString(static_cast<CUresult>(error), &text);
  return text ? text : "unrecognized error code";
}

cudaError_t cudaGetDeviceCount(int* count) {
  const cudaError_t result = told(start_driver());
  return result == cudaSuccess ? told(cuDeviceGetCount(count)) : result;
}

cudaError_t cudaSetDevice(int device) {
  if (const cudaError_t result = told(start_driver()); result != cudaSuccess) return result;
  CUcontext context = nullptr;
  const CUresult result = cuDevicePrimaryCtxRetain(&context, device);
  return told(result == CUDA_SUCCESS ? cuCtxSetCurrent(context) : result);
}

cudaError_t cudaGetDevice(int* device) {
  return in_context([=] { return cuCtxGetDevice(device); });
}

cudaError_t cudaDeviceSynchronize() {
  return in_context([] { return cuCtxSynchronize(); });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return in_context([=] {
    return cuDeviceGetAttribute(value, static_cast<CUdevice_attribute>(attribute), device);
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return in_context([=] { return cuDeviceGetPCIBusId(text, length, device); });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
  return in_context([=] { return cuDeviceGetByPCIBusId(device, text); });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return in_context([=] { return cuDeviceCanAccessPeer(can, device, peer); });
}

cudaError_t cudaDeviceEnablePeerAccess(int, unsigned) {
  return with_context();
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  if (least) *least = 0;
  if (greatest) *greatest = -5;
  return with_context();
}

cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) {
  return with_context();
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  const CUresult result =
      cuGetProcAddress(symbol, function, static_cast<int>(version), flags, nullptr);
  const bool found = result == CUDA_SUCCESS;
  if (status) *status = found ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;  // that there is no such function is no error of the call
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, CUDART_VERSION, flags, status);
}

// Of cuda_profiler_api.h, which NVIDIA packs apart from the other headers.
extern "C" cudaError_t cudaProfilerStart() {
  return with_context();
}

extern "C" cudaError_t cudaProfilerStop() {
  return with_context();
}
