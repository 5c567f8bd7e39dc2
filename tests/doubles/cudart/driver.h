#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <functional>

/// The driver's double: work of a kernel that the runtime's double does truly, in the stream's
/// turn.
extern "C" CUresult cuDoubleRun(CUstream stream, std::function<void()> work);

namespace safelaunch::testing {

/// The runtime's result for the driver's; the numbers are the same. cudaGetLastError of this thread
/// tells of it once more.
cudaError_t told(CUresult result);
cudaError_t told(cudaError_t result);

/// Makes sure that this thread has a context: without cudaSetDevice that of device 0, at the first
/// call that needs one.
[[nodiscard]] cudaError_t with_context();

/// The driver's call, in a context.
template <class Call>
cudaError_t in_context(Call call) {
  const cudaError_t result = with_context();
  return result == cudaSuccess ? told(call()) : result;
}

}  // namespace safelaunch::testing
