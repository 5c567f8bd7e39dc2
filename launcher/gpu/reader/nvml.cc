#include "nvml.h"

#include <dlfcn.h>

#include <memory>
#include <utility>

// The library is opened by its name, so that the job's own search path decides which one is asked.
// Drivers of before 2017 lack the newer way to begin, and are begun in the older one.
namespace safelaunch::gpu {
namespace {

Nvml::Symbols symbols_of_host() {
  // WSL keeps it in a folder that the loader's cache may lack.
  for (const char* name : {"libnvidia-ml.so.1", "/usr/lib/wsl/lib/libnvidia-ml.so.1"})
    if (void* opened = ::dlopen(name, RTLD_NOW | RTLD_LOCAL))
      return [library = std::shared_ptr<void>(opened, ::dlclose)](const char* symbol) {
        return ::dlsym(library.get(), symbol);
      };
  return {};
}

}  // namespace

Nvml::Nvml() : Nvml(symbols_of_host()) {}

Nvml::Nvml(Symbols symbols) : symbols_(std::move(symbols)) {
  if (!symbols_) {
    trouble_ = NVML_ERROR_LIBRARY_NOT_FOUND;
    return;
  }
  trouble_ = call<decltype(nvmlInitWithFlags)>("nvmlInitWithFlags", NVML_INIT_FLAG_NO_GPUS);
  if (trouble_ == NVML_ERROR_FUNCTION_NOT_FOUND)
    trouble_ = call<decltype(nvmlInit_v2)>("nvmlInit_v2");
}

Nvml::~Nvml() {
  if (trouble_ == NVML_SUCCESS) (void)call<decltype(nvmlShutdown)>("nvmlShutdown");
}

std::string Nvml::words(nvmlReturn_t error) const {
  if (!symbols_) return "no NVIDIA driver: libnvidia-ml.so.1 cannot be opened";
  const auto name = reinterpret_cast<decltype(nvmlErrorString)*>(symbols_("nvmlErrorString"));
  const char* text = name != nullptr ? name(error) : nullptr;
  return text != nullptr ? text : "NVML error " + std::to_string(error);
}

}  // namespace safelaunch::gpu
