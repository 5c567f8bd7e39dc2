#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace safelaunch::testing {

/// bfloat16: the upper half of a float.
struct Brain {
  std::uint16_t bits;

  operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }
  static Brain from(float value) {
    const auto all = std::bit_cast<std::uint32_t>(value);
    return {static_cast<std::uint16_t>((all + 0x7FFF + ((all >> 16) & 1)) >>
                                       16)};  // to the nearest even
  }
};

/// IEEE half precision.
struct Half {
  std::uint16_t bits;

  operator float() const {
    const int exponent = (bits >> 10) & 31;
    const float fraction = static_cast<float>(bits & 1023) / 1024;
    const float sign = bits & 0x8000 ? -1.0F : 1.0F;
    if (exponent == 31) return fraction == 0 ? sign * INFINITY : NAN;
    return sign *
           (exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15));
  }
  static Half from(float value) {
    const int sign = std::signbit(value) ? 0x8000 : 0;
    const float size = std::fabs(value);
    if (std::isnan(value)) return {0x7E00};
    if (size >= 65520) return {static_cast<std::uint16_t>(sign | 0x7C00)};
    const int exponent = size < std::ldexp(1.0F, -14) ? -14 : std::ilogb(size);
    const auto steps = static_cast<int>(
        std::lrint(std::ldexp(size, 10 - exponent)));  // a carry goes into the exponent
    return {static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + steps))};
  }
};

}  // namespace safelaunch::testing
