// cuGetProcAddress in both its forms: names without a version lead to the newest one.
#include <dlfcn.h>
#include "cuda/api.h"

#include <string>

namespace {

void* own_library() {
  static void* const library = [] {
    Dl_info info{};
    ::dladdr(reinterpret_cast<const void*>(&cuInit), &info);
    return ::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  }();
  return library;
}

}  // namespace

extern "C" CUresult cuGetProcAddress_v2(const char* symbol, void** function, int, cuuint64_t,
                                        CUdriverProcAddressQueryResult* status) {
  *function = ::dlsym(own_library(), (std::string(symbol) + "_v2").c_str());
  if (!*function) *function = ::dlsym(own_library(), symbol);
  if (status)
    *status = *function ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  return *function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

extern "C" CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                                     cuuint64_t flags) {
  return cuGetProcAddress_v2(symbol, function, version, flags, nullptr);
}
