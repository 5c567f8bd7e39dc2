#include "opened_libraries.h"

#include <dlfcn.h>

#include "safelaunch/base/format.h"

// All functions are looked up at once, and a library that lacks one is refused as too old: so no
// later step has to ask whether a function is there.
namespace safelaunch::probe {
namespace {

/// A library opened at run time. It stays open: NVIDIA's cannot be unloaded once used.
class SharedLibrary {
 public:
  /// `file` as dlopen takes it: a path, or a name that the loader looks for.
  [[nodiscard]] static Result<SharedLibrary> open(const std::string& file) {
    if (void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) return SharedLibrary(handle);
    return Error{Errc::not_found, ::dlerror()};
  }

  /// Fills in a function pointer. A symbol that is not there is remembered, and null.
  template <class Function>
  void load(Function& function, const char* symbol) {
    function = reinterpret_cast<Function>(::dlsym(handle_, symbol));
    if (function == nullptr && missing_.empty()) missing_ = symbol;
  }

  /// Fails where a symbol was missing.
  [[nodiscard]] Result<void> complete(const std::string& file) const {
    if (missing_.empty()) return {};
    return Error{Errc::not_found, fmt::format("{} has no {}: it is too old", file, missing_)};
  }

 private:
  explicit SharedLibrary(void* handle) : handle_(handle) {}

  void* handle_;
  std::string missing_;
};

}  // namespace

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

Result<NcclLibrary> NcclLibrary::open(const std::string& file) {
  auto library = SharedLibrary::open(file);
  if (!library) return Error{Errc::not_found, "cannot load NCCL: " + library.error().message};
  NcclLibrary nccl{};
  library->load(nccl.version, "ncclGetVersion");
  library->load(nccl.unique_id, "ncclGetUniqueId");
  library->load(nccl.init_rank, "ncclCommInitRankConfig");
  library->load(nccl.async_error, "ncclCommGetAsyncError");
  library->load(nccl.abort, "ncclCommAbort");
  library->load(nccl.all_reduce, "ncclAllReduce");
  library->load(nccl.error_string, "ncclGetErrorString");
  library->load(nccl.last_error, "ncclGetLastError");
  if (const auto complete = library->complete(file); !complete) return complete.error();
  return nccl;
}

Result<std::string> NcclLibrary::version_text() const {
  int code = 0;
  if (const auto asked = check(version(&code), "ncclGetVersion"); !asked) return asked.error();
  return fmt::format("{}.{}.{}", code / 10'000, code / 100 % 100, code % 100);
}

Result<void> NcclLibrary::check(ncclResult_t result, const char* call) const {
  if (result == ncclSuccess || result == ncclInProgress) return {};
  const char* last = last_error(nullptr);
  const bool told = last != nullptr && *last != '\0';
  return Error{Errc::peer_lost,
               fmt::format("{}: {} ({}){}{}", call, error_string(result), static_cast<int>(result),
                           told ? ": " : "", told ? last : "")};
}

}  // namespace safelaunch::probe
