#pragma once

#include <map>

#include "safelaunch/base/event.h"
#include "safelaunch/host/file_locks.h"

namespace safelaunch::watch {
class RankState;
}  // namespace safelaunch::watch

namespace safelaunch::ranks {

struct RankAnswers;

/// A rank waits for the lock of a file.
struct LockWait {
  host::AwaitedLock lock;
  std::optional<Rank> holder{};  ///< the rank whose process holds it
};
using LockWaits = std::map<Rank, LockWait>;

/// The path in the frames of a stack, as the hook has added it: "acquire(lock=/data/a\\040lock)";
/// empty where none waits for a lock.
[[nodiscard]] std::string lock_path_in(std::string_view frames);

/// The locks for which these ranks wait: by their stacks, or blocked in the kernel. Looks at
/// /proc/locks, and where a rank waits for a file at the descriptors of processes.
[[nodiscard]] LockWaits find_lock_waits(const RankAnswers& answers,
                                        const std::map<Rank, watch::RankState>& ranks);

/// "ranks 0 2 wait for the lock /data/x.lock (3min old), which rank 1 (pid 71) holds"; empty: none.
[[nodiscard]] std::string describe(const LockWaits& waits);

}  // namespace safelaunch::ranks
