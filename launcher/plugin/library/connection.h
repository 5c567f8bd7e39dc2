#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace safelaunch::plugin {

/// One packet of docs/hook-protocol.md, a JSON object, made without the heap. A field for which
/// there is no room is left out whole.
class Packet {
 public:
  /// An empty place for a packet.
  constexpr Packet() = default;
  /// Begins a packet with its event's name and the present time.
  explicit Packet(std::string_view event);

  Packet& add_number(std::string_view key, std::uint64_t value);
  /// Keeps printable ASCII, and 64 characters of it; we send nothing else.
  Packet& add_text(std::string_view key, std::string_view text);
  Packet& add_flag(std::string_view key, bool value);

  [[nodiscard]] std::string_view text() const { return {text_.data(), size_}; }

 private:
  static constexpr std::size_t kRoom = 384;

  Packet& add_raw(std::string_view key, std::string_view value);

  std::array<char, kRoom> text_{};
  std::size_t size_ = 0;
};

/// The connection to safelaunch. Nothing here waits: a packet that the kernel does not take at once
/// is kept for the next time, and once safelaunch is gone everything is dropped without a word.
/// Only one thread at a time may use it.
class Connection {
 public:
  constexpr Connection() = default;

  /// `address` and `token` as in SAFELAUNCH_HOOK and SAFELAUNCH_HOOK_TOKEN; `api` is the version of
  /// NCCL's profiler interface that speaks. The texts are not copied.
  void introduce(const char* address, const char* token, int api);

  void say(const Packet& packet);
  /// Sends the packets that wait. True if none waits any more.
  bool flush();
  void close();

 private:
  enum class Sent { yes, later, never };

  void open();
  [[nodiscard]] Sent send(const Packet& packet) const;
  [[nodiscard]] bool is_ours() const;

  // Room for a packet of each communicator, and the few of the first collective.
  static constexpr std::size_t kMostWaiting = 16;

  const char* address_ = nullptr;  // none: there is no safelaunch to talk to
  const char* token_ = nullptr;
  int api_ = 0;
  int fd_ = -1;
  ino_t inode_ = 0;
  std::array<Packet, kMostWaiting> waiting_{};
  std::size_t waiting_count_ = 0;
};

}  // namespace safelaunch::plugin
