#include "nccl/reduce.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace safelaunch::testing {
namespace {

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

template <class Value>
struct Element {
  using Wide = Value;
  static Value narrow(Value value) { return value; }
};
template <>
struct Element<Half> {
  using Wide = float;
  static Half narrow(float value) { return Half::from(value); }
};
template <>
struct Element<Brain> {
  using Wide = float;
  static Brain narrow(float value) { return Brain::from(value); }
};

/// Calls `function` with a value of the type; false if there is no such type here.
template <class Function>
bool with_type(ncclDataType_t type, Function function) {
  switch (type) {
    case ncclInt8: function(std::int8_t{}); return true;
    case ncclUint8: function(std::uint8_t{}); return true;
    case ncclInt32: function(std::int32_t{}); return true;
    case ncclUint32: function(std::uint32_t{}); return true;
    case ncclInt64: function(std::int64_t{}); return true;
    case ncclUint64: function(std::uint64_t{}); return true;
    case ncclFloat16: function(Half{}); return true;
    case ncclFloat32: function(float{}); return true;
    case ncclFloat64: function(double{}); return true;
    case ncclBfloat16: function(Brain{}); return true;
    default: return false;
  }
}

/// into[i] = operate(into[i], other[i]).
template <class Value, class Operate>
void each(Value* into, const Value* other, std::size_t count, Operate operate) {
  using Wide = typename Element<Value>::Wide;
  for (std::size_t i = 0; i < count; ++i)
    into[i] =
        Element<Value>::narrow(operate(static_cast<Wide>(into[i]), static_cast<Wide>(other[i])));
}

template <class Value>
void combine_values(Value* into, const Value* other, std::size_t count, ncclRedOp_t op) {
  using Wide = typename Element<Value>::Wide;
  const auto sum = [](Wide a, Wide b) { return static_cast<Wide>(a + b); };
  const auto product = [](Wide a, Wide b) { return static_cast<Wide>(a * b); };
  switch (op) {
    case ncclProd: return each(into, other, count, product);
    case ncclMax: return each(into, other, count, [](Wide a, Wide b) { return std::max(a, b); });
    case ncclMin: return each(into, other, count, [](Wide a, Wide b) { return std::min(a, b); });
    default: return each(into, other, count, sum);
  }
}

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  std::size_t size = 0;
  with_type(type, [&](auto value) { size = sizeof value; });
  return size;
}

void combine(void* into, const void* other, std::size_t count, ncclDataType_t type,
             ncclRedOp_t op) {
  with_type(type, [&](auto sample) {
    using Value = decltype(sample);
    combine_values(static_cast<Value*>(into), static_cast<const Value*>(other), count, op);
  });
}

void scale(void* data, std::size_t count, ncclDataType_t type, const Factor& factor) {
  with_type(type, [&](auto sample) {
    using Value = decltype(sample);
    using Wide = typename Element<Value>::Wide;
    Value by;
    std::memcpy(&by, factor.data(), sizeof by);
    auto* values = static_cast<Value*>(data);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = Element<Value>::narrow(
          static_cast<Wide>(static_cast<Wide>(values[i]) * static_cast<Wide>(by)));
  });
}

void finish(void* data, std::size_t count, ncclDataType_t type, ncclRedOp_t op, int nranks) {
  if (op != ncclAvg) return;
  with_type(type, [&](auto sample) {
    using Value = decltype(sample);
    using Wide = typename Element<Value>::Wide;
    auto* values = static_cast<Value*>(data);
    for (std::size_t i = 0; i < count; ++i)
      values[i] = Element<Value>::narrow(
          static_cast<Wide>(static_cast<Wide>(values[i]) / static_cast<Wide>(nranks)));
  });
}

}  // namespace safelaunch::testing
