#include "nvml.h"

namespace safelaunch::gpu {
namespace {

void* open_library() {
  // WSL keeps it in a folder that the loader's cache may lack.
  for (const char* name : {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"})
    if (void* library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  return nullptr;
}

}  // namespace

Nvml::Nvml() : library_(open_library()) {
  if (library_ == nullptr) {
    trouble_ = NVML_ERROR_LIBRARY_NOT_FOUND;
    return;
  }
  trouble_ = call<decltype(nvmlInitWithFlags)>("nvmlInitWithFlags", NVML_INIT_FLAG_NO_GPUS);
  if (trouble_ == NVML_ERROR_FUNCTION_NOT_FOUND)
    trouble_ = call<decltype(nvmlInit_v2)>("nvmlInit_v2");
}

Nvml::~Nvml() {
  if (trouble_ == NVML_SUCCESS) (void)call<decltype(nvmlShutdown)>("nvmlShutdown");
  if (library_ != nullptr) ::dlclose(library_);
}

std::string Nvml::words(nvmlReturn_t error) const {
  const auto name = reinterpret_cast<decltype(nvmlErrorString)*>(symbol("nvmlErrorString"));
  if (library_ == nullptr) return "no NVIDIA driver: libnvidia-ml.so.1 cannot be opened";
  return name != nullptr ? name(error) : "NVML error " + std::to_string(error);
}

}  // namespace safelaunch::gpu
