#pragma once

#include <functional>
#include <string>

#include "nvml_api.h"

namespace safelaunch::gpu {

/// The driver's management library, opened at run time. Every function may be missing, because
/// drivers of ten years are in use. Use it from one thread: its thread safety has had bugs.
class Nvml {
 public:
  /// The function of this very name; nullptr where the driver has none.
  using Symbols = std::function<void*(const char* name)>;

  /// Opens and initialises the host's library. Ask `trouble` before anything else.
  Nvml();
  /// As above, with the functions of another library; empty: there is none.
  explicit Nvml(Symbols symbols);
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml();

  /// Success, or the reason why nothing can be asked.
  [[nodiscard]] nvmlReturn_t trouble() const { return trouble_; }

  /// Calls the function with this very name ("nvmlDeviceGetPciInfo_v3"); nvml_api.h gives its type.
  /// NVML_ERROR_FUNCTION_NOT_FOUND where this driver has no such function.
  template <class Function, class... Args>
  [[nodiscard]] nvmlReturn_t call(const char* name, Args... args) const {
    const auto function = reinterpret_cast<Function*>(symbols_ ? symbols_(name) : nullptr);
    return function != nullptr ? function(args...) : NVML_ERROR_FUNCTION_NOT_FOUND;
  }

  /// NVML's own words for an error.
  [[nodiscard]] std::string words(nvmlReturn_t error) const;

 private:
  Symbols symbols_;
  nvmlReturn_t trouble_ = NVML_SUCCESS;
};

}  // namespace safelaunch::gpu
