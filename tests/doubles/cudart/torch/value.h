#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace safelaunch::testing {

/// The types of torch's tensors that true kernels know, with the numbers of c10::ScalarType.
enum class Type : signed char {
  uint8 = 0,
  int8 = 1,
  int16 = 2,
  int32 = 3,
  int64 = 4,
  float16 = 5,
  float32 = 6,
  float64 = 7,
  boolean = 11,
  bfloat16 = 15,
};

/// The type that C++ calls `name` in a kernel's name; none if it is another one.
[[nodiscard]] std::optional<Type> type_named(std::string_view name);

/// The type with this number; none if it is another one.
[[nodiscard]] std::optional<Type> type_numbered(signed char number);

[[nodiscard]] std::size_t size_of(Type type);

/// The type that torch calculates in: float for the short ones.
[[nodiscard]] Type calculated_in(Type type);

/// A number of any type.
struct Number {
  bool is_whole;
  std::int64_t whole;
  double real;

  static Number of(std::int64_t value) { return {true, value, static_cast<double>(value)}; }
  static Number of(double value) { return {false, 0, value}; }
  [[nodiscard]] bool is_zero() const { return is_whole ? whole == 0 : real == 0; }
};

/// `whole` of two whole numbers, else `real` of both.
template <class Whole, class Real>
Number combined(const Number& a, const Number& b, Whole whole, Real real) {
  if (a.is_whole && b.is_whole) return Number::of(std::int64_t{whole(a.whole, b.whole)});
  return Number::of(double{real(a.real, b.real)});
}
[[nodiscard]] Number sum(const Number& a, const Number& b);
[[nodiscard]] Number product(const Number& a, const Number& b);
[[nodiscard]] bool equal(const Number& a, const Number& b);
[[nodiscard]] bool less(const Number& a, const Number& b);

[[nodiscard]] Number load(Type type, const void* from);
void store(Type type, void* to, const Number& number);

/// The next multiple of `size` from `offset` on: where a field of that size lies.
constexpr std::size_t aligned(std::size_t offset, std::size_t size) {
  return (offset + size - 1) / size * size;
}

}  // namespace safelaunch::testing
