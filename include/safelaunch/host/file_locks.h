#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "safelaunch/base/strings.h"
#include "safelaunch/base/time.h"

namespace safelaunch::host {

/// One line of /proc/locks: a lock that a process holds, or waits for.
struct FileLock {
  int pid = 0;  ///< -1: the kernel does not tell (open file description locks)
  std::uint64_t inode = 0;
  bool waits = false;  ///< the process is blocked until the holder lets go
  bool operator==(const FileLock&) const = default;
};

[[nodiscard]] std::vector<FileLock> parse_proc_locks(std::string_view text);

/// The locks of this host, as far as /proc/locks shows them here. It takes the kernel 10 to 20 ms:
/// it waits until no CPU works on a lock.
[[nodiscard]] std::vector<FileLock> read_file_locks();

/// A file whose lock a process waits for.
struct AwaitedLock {
  std::string path;
  std::optional<Duration> age{};  ///< since the file was written last; nullopt: it is not there
  /// The process that holds the lock, or has the file open: where the file itself is the lock, the
  /// kernel knows of none. nullopt: no process of this host that we may look at.
  std::optional<int> holder{};
};

/// The lock at a path, as a program waits for it that asks again and again; `waiting` are the
/// processes that do.
[[nodiscard]] AwaitedLock lock_at(const std::string& path, const std::vector<FileLock>& locks,
                                  std::span<const int> waiting = {});

/// False where no thread of the process is blocked for a lock. Costs microseconds.
[[nodiscard]] bool may_wait_for_lock(int pid);

/// The lock for which the process is blocked in the kernel; nullopt: there is none. Its path is
/// found among the holder's open files.
[[nodiscard]] std::optional<AwaitedLock> lock_that_blocks(int pid,
                                                          const std::vector<FileLock>& locks);

}  // namespace safelaunch::host
