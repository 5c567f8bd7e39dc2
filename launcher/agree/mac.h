#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

namespace safelaunch::agree {

/// A SHA-256 digest, a MAC or a key made of one, as bytes.
using Digest = std::array<char, 32>;

[[nodiscard]] inline std::string_view bytes_of(const Digest& digest) {
  return {digest.data(), digest.size()};
}

/// HMAC-SHA256 (RFC 2104) of the parts, one behind the other.
[[nodiscard]] Digest hmac(std::string_view key, std::initializer_list<std::string_view> parts);

/// Compares in a time that does not depend on the bytes, so that no peer can guess a MAC piecemeal.
[[nodiscard]] bool same_secret(std::string_view one, std::string_view other);

/// 256 bits of the kernel's random numbers.
[[nodiscard]] Digest random_digest();

[[nodiscard]] std::string hexadecimal(std::string_view bytes);

}  // namespace safelaunch::agree
