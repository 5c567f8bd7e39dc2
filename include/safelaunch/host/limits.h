#pragma once

#include <cstdint>

namespace safelaunch::host {

/// No limit at all.
inline constexpr std::uint64_t kUnlimited = ~std::uint64_t{0};

/// One resource limit: what holds, and how far a process may raise it by itself.
struct Limit {
  std::uint64_t soft = kUnlimited;
  std::uint64_t hard = kUnlimited;
  bool operator==(const Limit&) const = default;
};

/// The limits that a job inherits from us and that training runs into.
struct ResourceLimits {
  Limit locked_memory;  ///< bytes; InfiniBand pins its buffers
  Limit open_files;
  Limit processes;  ///< processes and threads of this user
  Limit stack;      ///< bytes
  Limit core;       ///< bytes
  bool operator==(const ResourceLimits&) const = default;
};

[[nodiscard]] ResourceLimits read_limits();

}  // namespace safelaunch::host
