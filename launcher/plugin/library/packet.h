#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace safelaunch::plugin {

/// One packet of docs/hook-protocol.md, a JSON object, without the heap. A field for which there is
/// no room is left out whole.
class Packet {
 public:
  /// An empty place for a packet.
  constexpr Packet() = default;
  /// With its name and the present time.
  explicit Packet(std::string_view event);

  Packet& add_number(std::string_view key, std::uint64_t value);
  /// Keeps printable ASCII, and 64 characters of it: all that we send is that.
  Packet& add_text(std::string_view key, std::string_view text);
  Packet& add_flag(std::string_view key, bool value);

  [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }

 private:
  static constexpr std::size_t kRoom = 384;

  Packet& add_raw(std::string_view key, std::string_view value);

  std::array<char, kRoom> text_{};
  std::size_t size_ = 0;
};

}  // namespace safelaunch::plugin
