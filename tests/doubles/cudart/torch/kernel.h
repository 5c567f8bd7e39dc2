#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "cudart/driver.h"

namespace safelaunch::testing {

/// A kernel of torch's that is done truly: of its arguments it makes the work that it is. The
/// arguments are read at once, the memory when the work is done.
using TrueKernel = std::function<std::function<void()>(void** arguments, dim3 grid)>;

/// The kernel with this (demangled) name; none if it is not one of those.
[[nodiscard]] std::optional<TrueKernel> true_kernel(std::string_view name);

// The families of them.
[[nodiscard]] std::optional<TrueKernel> elementwise_kernel(std::string_view name);
[[nodiscard]] std::optional<TrueKernel> range_kernel(std::string_view name);
[[nodiscard]] std::optional<TrueKernel> reduction_kernel(std::string_view name);
[[nodiscard]] std::optional<TrueKernel> concatenation_kernel(std::string_view name);
[[nodiscard]] std::optional<TrueKernel> nonzero_kernel(std::string_view name);

/// Kernels of more elements than these do nothing, but for those that copy or fill: a matrix of a
/// model is not worth the time.
inline constexpr std::int64_t kMostElements = std::int64_t{4} << 20;

/// Is it memory that a kernel may touch? A kernel whose arguments lie otherwise than we think is
/// noticed by this.
[[nodiscard]] bool is_memory(const void* address);

}  // namespace safelaunch::testing
