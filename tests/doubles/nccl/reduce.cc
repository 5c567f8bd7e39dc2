#include "nccl/reduce.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "common/short_floats.h"

namespace safelaunch::testing {
namespace {

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
