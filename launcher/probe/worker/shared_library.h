#pragma once

#include <dlfcn.h>

#include <string>

#include "safelaunch/base/format.h"
#include "safelaunch/base/result.h"

namespace safelaunch::probe {

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

}  // namespace safelaunch::probe
