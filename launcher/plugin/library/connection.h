#pragma once

#include <sys/types.h>

#include <array>
#include <cstddef>

#include "packet.h"

namespace safelaunch::plugin {

/// The way to safelaunch. Nothing here waits: what the kernel does not take at once is kept for the
/// next time, and once safelaunch is gone everything is dropped without a word. Not for several
/// threads at a time.
class Connection {
 public:
  constexpr Connection() = default;

  /// `address` and `token` as in SAFELAUNCH_HOOK and SAFELAUNCH_HOOK_TOKEN; `api` is the version of
  /// NCCL's profiler interface that speaks. The texts are not copied.
  void introduce(const char* address, const char* token, int api);

  void say(const Packet& packet);
  /// Sends what waits. True if nothing does any more.
  bool flush();
  void close();

 private:
  enum class Sent { yes, later, never };

  void open();
  [[nodiscard]] Sent send(const Packet& packet) const;
  [[nodiscard]] bool is_ours() const;

  // One for each communicator, and the few of the first collective.
  static constexpr std::size_t kMostWaiting = 16;

  const char* address_ = nullptr;  // none: nobody to talk to
  const char* token_ = nullptr;
  int api_ = 0;
  int fd_ = -1;
  ino_t inode_ = 0;
  std::array<Packet, kMostWaiting> waiting_{};
  std::size_t waiting_count_ = 0;
};

}  // namespace safelaunch::plugin
