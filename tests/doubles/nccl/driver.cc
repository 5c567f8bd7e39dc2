#include "nccl/driver.h"

#include <dlfcn.h>

namespace safelaunch::testing {
namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

Driver open_driver() {
  Driver driver;
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return driver;
  find(library, "cuInit", driver.init);
  find(library, "cuDriverGetVersion", driver.version);
  find(library, "cuDeviceGetAttribute", driver.attribute);
  find(library, "cuCtxGetCurrent", driver.current);
  find(library, "cuCtxSetCurrent", driver.set_current);
  find(library, "cuCtxGetDevice", driver.device);
  find(library, "cuDevicePrimaryCtxRetain", driver.retain);
  find(library, "cuMemAlloc_v2", driver.allocate);
  find(library, "cuMemFree_v2", driver.free);
  find(library, "cuGetErrorString", driver.error_text);
  find(library, "cuDoubleBreak", driver.fail);
  find(library, "cuStreamIsCapturing", driver.is_capturing);
  find(library, "cuStreamQuery", driver.query);
  find(library, "cuLaunchHostFunc", driver.launch);
  return driver;
}

}  // namespace

const Driver& driver() {
  static const Driver opened = open_driver();
  return opened;
}

CUcontext context_of_caller() {
  if (!driver().found()) return nullptr;
  CUcontext context = nullptr;
  if (driver().current(&context) == CUDA_SUCCESS && context) return context;
  if (driver().init(0) != CUDA_SUCCESS || driver().retain(&context, 0) != CUDA_SUCCESS)
    return nullptr;
  driver().set_current(context);
  return context;
}

int device_of_caller() {
  CUdevice device = 0;
  if (!driver().found() || driver().device(&device) != CUDA_SUCCESS) return 0;
  return device;
}

}  // namespace safelaunch::testing
