#include "cuda_driver.h"

#include "shared_library.h"

namespace safelaunch::probe {

Result<CudaDriver> CudaDriver::open() {
  const char* const file = "libcuda.so.1";
  auto library = SharedLibrary::open(file);
  if (!library) return Error{Errc::not_found, "no CUDA driver: " + library.error().message};
  CudaDriver cuda{};
  library->load(cuda.init, "cuInit");
  library->load(cuda.version, "cuDriverGetVersion");
  library->load(cuda.device_count, "cuDeviceGetCount");
  library->load(cuda.device, "cuDeviceGet");
  library->load(cuda.device_name, "cuDeviceGetName");
  library->load(cuda.device_attribute, "cuDeviceGetAttribute");
  library->load(cuda.retain_context, "cuDevicePrimaryCtxRetain");
  library->load(cuda.use_context, "cuCtxSetCurrent");
  library->load(cuda.synchronize, "cuCtxSynchronize");
  library->load(cuda.memory_info, "cuMemGetInfo_v2");
  library->load(cuda.allocate, "cuMemAlloc_v2");
  library->load(cuda.fill, "cuMemsetD32_v2");
  library->load(cuda.copy_in, "cuMemcpyHtoD_v2");
  library->load(cuda.copy_out, "cuMemcpyDtoH_v2");
  library->load(cuda.create_stream, "cuStreamCreate");
  library->load(cuda.query_stream, "cuStreamQuery");
  library->load(cuda.create_event, "cuEventCreate");
  library->load(cuda.record_event, "cuEventRecord");
  library->load(cuda.elapsed, "cuEventElapsedTime");
  library->load(cuda.error_name, "cuGetErrorName");
  library->load(cuda.error_string, "cuGetErrorString");
  if (const auto complete = library->complete(file); !complete) return complete.error();
  return cuda;
}

Result<void> CudaDriver::check(CUresult result, const char* call) const {
  if (result == CUDA_SUCCESS) return {};
  const char* name = nullptr;
  const char* text = nullptr;
  error_name(result, &name);
  error_string(result, &text);
  return Error{Errc::peer_lost,
               fmt::format("{}: {} ({}): {}", call, name != nullptr ? name : "an unknown error",
                           static_cast<int>(result), text != nullptr ? text : "no text")};
}

}  // namespace safelaunch::probe
