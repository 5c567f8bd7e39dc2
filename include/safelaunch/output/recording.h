#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "safelaunch/base/disk_queue.h"

namespace safelaunch::output {

/// A log file's missing bytes, and the reason.
struct RecordingLoss {
  std::filesystem::path path;
  std::string reason;       ///< "No space left on device"
  std::uint64_t bytes = 0;  ///< the bytes that were not recorded so far
};

/// The file that one stream is recorded in, byte for byte. The first failure (a full disk, a quota,
/// an I/O error) ends the recording and not the job: from then on bytes are only counted. Bytes
/// that were written stay; a file that is truncated or removed under us is no failure. With a
/// `disk`, its thread writes, and a queue that takes no more is such a failure too. Copies are one
/// recording.
class Recording {
 public:
  explicit Recording(std::filesystem::path path, DiskQueue* disk = nullptr);

  /// Records the bytes. The first ones create the file, or go on at its end: most streams stay
  /// silent, and the empty files of thousands of ranks would cost more than their start. A failure
  /// shows in failed().
  void append(std::string_view bytes);

  [[nodiscard]] bool failed() const;
  /// The loss, reported once: later calls return nullopt, as does a recording that lost nothing.
  /// The `disk` may still have bytes to write, so call it last when the disk has drained.
  [[nodiscard]] std::optional<RecordingLoss> untold_loss();

 private:
  struct File;

  std::shared_ptr<File> file_;
  DiskQueue* disk_;
};

/// The last bytes of a stream, kept for the diagnosis: a rank's words before it died or hung.
/// Memory is taken only as bytes come, never more than the capacity.
class Tail {
 public:
  static constexpr std::size_t kCapacity = 64 * 1024;

  explicit Tail(std::size_t capacity = kCapacity) : capacity_(capacity) {}

  void append(std::string_view bytes);
  [[nodiscard]] std::string text() const;

 private:
  std::size_t capacity_;
  std::string ring_;
  std::size_t oldest_ = 0;  // start of the ring, once it is full
};

}  // namespace safelaunch::output
