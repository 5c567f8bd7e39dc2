#pragma once

#include <array>
#include <cstdint>

namespace safelaunch::testing {

/// OffsetCalculator of ATen/cuda/detail/OffsetCalculator.cuh: the offsets, in bytes, of an element
/// in each of some tensors.
template <int Tensors>
struct Offsets {
  struct Divider {
    unsigned divisor;
    unsigned magic;
    unsigned shift;
  };
  int dimensions;
  Divider sizes[25];
  unsigned strides[25][Tensors];

  [[nodiscard]] std::array<std::size_t, Tensors> of(unsigned element) const {
    std::array<std::size_t, Tensors> offsets{};
    for (int i = 0; i < dimensions; ++i) {
      const unsigned place = element % sizes[i].divisor;
      element /= sizes[i].divisor;
      for (int tensor = 0; tensor < Tensors; ++tensor)
        offsets[static_cast<std::size_t>(tensor)] += std::size_t{place} * strides[i][tensor];
    }
    return offsets;
  }
  [[nodiscard]] bool is_sound() const { return dimensions >= 0 && dimensions <= 25; }
};

}  // namespace safelaunch::testing
