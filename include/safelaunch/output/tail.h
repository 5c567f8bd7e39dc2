#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace safelaunch::output {

/// The last bytes of a stream, for the diagnosis: what a rank said before it died or hung. Memory
/// is taken only as bytes come, never more than the capacity.
class Tail {
 public:
  static constexpr std::size_t kCapacity = 64 * 1024;

  explicit Tail(std::size_t capacity = kCapacity) : capacity_(capacity) {}

  void append(std::string_view bytes);
  [[nodiscard]] std::string text() const;

 private:
  std::size_t capacity_;
  std::string ring_;
  std::size_t oldest_ = 0;  // where the ring begins, once it is full
};

}  // namespace safelaunch::output
