#pragma once

#include <cstddef>
#include <cstdint>

#include "mac.h"
#include "safelaunch/agree/board.h"
#include "safelaunch/base/result.h"

namespace safelaunch::agree {

/// The bytes of a frame on a connection: the length of the body in four bytes, the greatest first,
/// and the body.
[[nodiscard]] std::string framed(std::string_view body);

/// Longest body before the peer has proven itself, and after it: a text and what stands around it.
inline constexpr std::size_t kLongestOfStranger = 1024;
inline constexpr std::size_t kLongestBody = kLongestText + 4096;

/// Cuts a stream of bytes into bodies. It keeps only the bytes of one unfinished frame that have
/// really come, so a length of 4 GB costs nothing.
class FrameReader {
 public:
  explicit FrameReader(std::size_t longest) : longest_(longest) {}

  /// Takes bytes off `bytes` up to the end of the next body, and gives that body; nullopt where all
  /// are taken and the body is not whole. The error: the body would be longer than allowed.
  [[nodiscard]] Result<std::optional<std::string>> take(std::string_view& bytes);

  void allow(std::size_t longest) { longest_ = longest; }
  [[nodiscard]] std::size_t held() const { return partial_.size(); }

 private:
  [[nodiscard]] bool fill(std::string_view& bytes, std::size_t size);

  std::size_t longest_;
  std::string partial_;  ///< length and body, as far as they have come
};

/// One direction of a connection between two that have proven themselves: each body carries a MAC
/// under a key that only this connection has, over the body and its number. So no body can be
/// altered, repeated, left out, or taken from another connection or direction.
class Seal {
 public:
  explicit Seal(const Digest& key) : key_(key) {}

  /// The frame of the next body.
  [[nodiscard]] std::string close(std::string_view body);

  /// Takes the MAC off the next body; nullopt where it is a wrong one. Then nothing that follows on
  /// this connection can be believed.
  [[nodiscard]] std::optional<std::string_view> open(std::string_view sealed);

 private:
  [[nodiscard]] std::string next_mac(std::string_view body);

  Digest key_;
  std::uint64_t number_ = 0;
};

}  // namespace safelaunch::agree
