#pragma once

// Without it the header gives functions the names of their newest version, which dlsym does not.
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <dlfcn.h>
#include <nvml.h>

#include <string>

namespace safelaunch::gpu {

/// The driver's management library, opened at run time. Every function may be missing: drivers of
/// ten years are about. Use it from one thread: its thread safety has had bugs.
class Nvml {
 public:
  /// Opens and initialises it. Ask `trouble` before anything else.
  Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  /// Success, or why there is nothing to be asked.
  [[nodiscard]] nvmlReturn_t trouble() const { return trouble_; }

  /// Calls the function of this very name ("nvmlDeviceGetPciInfo_v3"), of the type that the header
  /// gives it; NVML_ERROR_FUNCTION_NOT_FOUND where this driver has none.
  template <class Function, class... Args>
  [[nodiscard]] nvmlReturn_t call(const char* name, Args... args) const {
    const auto function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr ? function(args...) : NVML_ERROR_FUNCTION_NOT_FOUND;
  }

  /// NVML's own words for an error.
  [[nodiscard]] std::string words(nvmlReturn_t error) const;

 private:
  [[nodiscard]] void* symbol(const char* name) const {
    return library_ != nullptr ? ::dlsym(library_, name) : nullptr;
  }

  void* library_ = nullptr;
  nvmlReturn_t trouble_ = NVML_SUCCESS;
};

}  // namespace safelaunch::gpu
