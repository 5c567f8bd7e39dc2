#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "safelaunch/base/unique_fd.h"

namespace safelaunch::output {

/// The way out to one of our own standard streams. It never blocks, because a terminal stopped by
/// Ctrl-S or a reader that has fallen asleep must not stop the watch over the job. O_NONBLOCK
/// belongs to the open file, which we share with our parent and with the shell after us, so it is
/// never set there: pipes and terminals are opened a second time.
class Sink {
 public:
  /// Takes a descriptor that stays the caller's. It may be closed; then everything is lost, without
  /// harm.
  explicit Sink(int fd);

  /// Writes as much as the stream takes now. Returns the number of bytes that are dealt with:
  /// written or, where the stream is gone or the disk is full, lost. If that is less than all, wait
  /// until fd() is writable.
  [[nodiscard]] std::size_t write(std::string_view bytes);

  /// Loses everything from now on; for the case that there is no way to wait for the reader.
  void abandon();

  [[nodiscard]] int fd() const { return own_ ? own_.get() : fd_; }
  [[nodiscard]] std::uint64_t lost() const { return lost_; }

 private:
  enum class Way {
    plain,     ///< write(2): to a file, where it never waits, or to a stream opened a second time
    socket,    ///< send(2), which can be told not to block
    cautious,  ///< could not be opened again: small writes, and only while there is room
    gone,
  };

  [[nodiscard]] long write_some(std::string_view bytes) const;

  int fd_;
  UniqueFd own_;
  Way way_ = Way::plain;
  std::uint64_t lost_ = 0;
};

}  // namespace safelaunch::output
