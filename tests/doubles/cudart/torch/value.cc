#include "cudart/torch/value.h"

#include <cstring>
#include <limits>
#include <utility>

#include "common/short_floats.h"

namespace safelaunch::testing {
namespace {

constexpr std::pair<std::string_view, Type> kNames[] = {
    {"unsigned char", Type::uint8}, {"signed char", Type::int8},
    {"short", Type::int16},         {"int", Type::int32},
    {"long", Type::int64},          {"c10::Half", Type::float16},
    {"float", Type::float32},       {"double", Type::float64},
    {"bool", Type::boolean},        {"c10::BFloat16", Type::bfloat16},
};

template <class Value>
Value read(const void* from) {
  Value value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class Value>
void write(void* to, Value value) {
  std::memcpy(to, &value, sizeof value);
}

std::int64_t whole_of(const Number& number) {
  if (number.is_whole) return number.whole;
  constexpr double kMost = 9.2e18;
  const bool fits = number.real > -kMost && number.real < kMost;
  return fits ? static_cast<std::int64_t>(number.real) : std::numeric_limits<std::int64_t>::min();
}

}  // namespace

std::optional<Type> type_named(std::string_view name) {
  for (const auto& [known, type] : kNames)
    if (known == name) return type;
  return std::nullopt;
}

std::optional<Type> type_numbered(signed char number) {
  for (const auto& [name, type] : kNames)
    if (static_cast<signed char>(type) == number) return type;
  return std::nullopt;
}

std::size_t size_of(Type type) {
  switch (type) {
    case Type::uint8:
    case Type::int8:
    case Type::boolean: return 1;
    case Type::int16:
    case Type::float16:
    case Type::bfloat16: return 2;
    case Type::int32:
    case Type::float32: return 4;
    default: return 8;
  }
}

Type calculated_in(Type type) {
  return type == Type::float16 || type == Type::bfloat16 ? Type::float32 : type;
}

Number sum(const Number& a, const Number& b) {
  return combined(
      a, b, [](auto x, auto y) { return x + y; }, [](auto x, auto y) { return x + y; });
}

Number product(const Number& a, const Number& b) {
  return combined(
      a, b, [](auto x, auto y) { return x * y; }, [](auto x, auto y) { return x * y; });
}

bool equal(const Number& a, const Number& b) {
  return a.is_whole && b.is_whole ? a.whole == b.whole : a.real == b.real;
}

bool less(const Number& a, const Number& b) {
  return a.is_whole && b.is_whole ? a.whole < b.whole : a.real < b.real;
}

Number load(Type type, const void* from) {
  const auto whole = [](auto value) { return Number::of(static_cast<std::int64_t>(value)); };
  const auto real = [](auto value) { return Number::of(static_cast<double>(value)); };
  switch (type) {
    case Type::uint8: return whole(read<std::uint8_t>(from));
    case Type::int8: return whole(read<std::int8_t>(from));
    case Type::int16: return whole(read<std::int16_t>(from));
    case Type::int32: return whole(read<std::int32_t>(from));
    case Type::int64: return whole(read<std::int64_t>(from));
    case Type::boolean: return whole(read<std::uint8_t>(from) != 0);
    case Type::float16: return real(static_cast<float>(read<Half>(from)));
    case Type::bfloat16: return real(static_cast<float>(read<Brain>(from)));
    case Type::float32: return real(read<float>(from));
    case Type::float64: return real(read<double>(from));
  }
  return Number::of(std::int64_t{0});
}

void store(Type type, void* to, const Number& number) {
  switch (type) {
    case Type::uint8: return write(to, static_cast<std::uint8_t>(whole_of(number)));
    case Type::int8: return write(to, static_cast<std::int8_t>(whole_of(number)));
    case Type::int16: return write(to, static_cast<std::int16_t>(whole_of(number)));
    case Type::int32: return write(to, static_cast<std::int32_t>(whole_of(number)));
    case Type::int64: return write(to, whole_of(number));
    case Type::boolean: return write(to, static_cast<std::uint8_t>(!number.is_zero()));
    case Type::float16: return write(to, Half::from(static_cast<float>(number.real)));
    case Type::bfloat16: return write(to, Brain::from(static_cast<float>(number.real)));
    case Type::float32: return write(to, static_cast<float>(number.real));
    case Type::float64: return write(to, number.real);
  }
}

}  // namespace safelaunch::testing
