#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace safelaunch::agree {

/// Puts numbers (the greatest byte first) and texts (their length in four bytes, then their bytes)
/// behind each other.
class Writer {
 public:
  template <class Number>
  Writer& number(Number value) {
    using Bits = std::make_unsigned_t<Number>;
    for (std::size_t shift = sizeof(Bits) * 8; shift > 0; shift -= 8)
      bytes_ += static_cast<char>(static_cast<Bits>(value) >> (shift - 8) & 0xff);
    return *this;
  }
  Writer& text(std::string_view value) {
    number(static_cast<std::uint32_t>(value.size()));
    bytes_ += value;
    return *this;
  }
  Writer& raw(std::string_view value) {
    bytes_ += value;
    return *this;
  }
  [[nodiscard]] std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// Takes the same off bytes that may be torn or hostile. Once something is missing, all that
/// follows reads as empty, and whole() is false.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  template <class Number>
  [[nodiscard]] Number number() {
    std::make_unsigned_t<Number> value = 0;
    for (const char byte : raw(sizeof(Number)))
      value = static_cast<std::make_unsigned_t<Number>>(static_cast<std::uint64_t>(value) << 8U |
                                                        static_cast<unsigned char>(byte));
    return static_cast<Number>(value);
  }
  [[nodiscard]] std::string text() { return std::string(raw(number<std::uint32_t>())); }
  [[nodiscard]] std::string_view raw(std::size_t size) {
    if (torn_ || size > rest_.size()) {
      torn_ = true;
      return {};
    }
    const std::string_view taken = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return taken;
  }
  /// Whether everything was there, and nothing is left over.
  [[nodiscard]] bool whole() const { return !torn_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool torn_ = false;
};

}  // namespace safelaunch::agree
