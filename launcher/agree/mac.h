#pragma once

#include <array>
#include <initializer_list>
#include <optional>
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

// Records that agents leave for each other where others may write too: a shared folder, a server
// of the cluster's. Each carries a MAC under a key made of the token, over its content and its
// name, so a record of somebody without the token, or one in another's place, reads as none.

[[nodiscard]] std::string sealed(std::string_view key, std::string_view name,
                                 std::string_view body);
[[nodiscard]] std::optional<std::string> unsealed(std::string_view key, std::string_view name,
                                                  std::string_view record);

}  // namespace safelaunch::agree
