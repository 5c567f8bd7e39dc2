#pragma once

#include "cuda/api.h"

#include <cstddef>
#include <iterator>
#include <optional>

namespace safelaunch::testing {

/// A piece of the address space that is device memory.
struct Range {
  CUdeviceptr begin;
  std::size_t size;
  int device;  ///< or kOnHost
};
inline constexpr int kOnHost = -1;

/// The memory that cuMemAlloc gave, if `address` lies in it.
[[nodiscard]] std::optional<Range> allocated_at(CUdeviceptr address);

/// The memory of the host that is pinned, if `address` lies in it.
[[nodiscard]] std::optional<Range> pinned_at(CUdeviceptr address);

/// The range that cuMemMap has mapped, if `address` lies in it.
[[nodiscard]] std::optional<Range> mapped_at(CUdeviceptr address);

/// The one of `ranges` (address → something with a size and a device) in which `address` lies.
template <class Ranges>
std::optional<Range> range_at(const Ranges& ranges, CUdeviceptr address) {
  const auto after = ranges.upper_bound(address);
  if (after == ranges.begin()) return std::nullopt;
  const auto& [begin, one] = *std::prev(after);
  if (address - begin >= one.size) return std::nullopt;
  return Range{begin, one.size, one.device};
}

/// Where the double keeps what lies there on the device.
inline void* host(CUdeviceptr address) {
  return reinterpret_cast<void*>(address);
}

}  // namespace safelaunch::testing
