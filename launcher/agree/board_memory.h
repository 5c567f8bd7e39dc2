#pragma once

#include <cstdint>

#include "safelaunch/base/disk_queue.h"
#include "safelaunch/base/time.h"

namespace safelaunch::agree {

/// The mark that a board leaves for the one that comes after it: a line that says when it lived
/// last.
struct Remembered {
  std::string boot_id;
  Duration lived{};  ///< since the boot, by a clock that runs on while the machine sleeps
  std::uint64_t generation = 0;
  bool operator==(const Remembered&) const = default;
};

[[nodiscard]] std::string to_text(const Remembered& remembered);
/// nullopt where the text is not of ours: then nothing is known of an earlier life.
[[nodiscard]] std::optional<Remembered> remembered_from(std::string_view text);

/// How long from now the earlier life's leases may still run: it may have given one at any time up
/// to `told_every` after it wrote last. nullopt: they are over, or the machine has booted since.
[[nodiscard]] std::optional<Duration> left_of_leases(const Remembered& earlier,
                                                     const Remembered& now, Duration told_every,
                                                     Duration lease);

/// The file in which the board of one job remembers that it is alive. It is written by a thread of
/// its own, so a frozen file system does not stop the board.
class BoardMemory {
 public:
  /// An empty folder: nothing is remembered.
  BoardMemory(const std::string& folder, std::string_view job);
  ~BoardMemory();

  /// The mark that the earlier life of this job's board has left.
  [[nodiscard]] std::optional<Remembered> earlier() const;
  void write(const Remembered& now);
  /// The board ends in order, and every seat has been given back.
  void forget();

 private:
  std::string path_;
  DiskQueue disk_;
};

/// This moment, as the memory tells it.
[[nodiscard]] Remembered remembered_now(std::uint64_t generation);

}  // namespace safelaunch::agree
