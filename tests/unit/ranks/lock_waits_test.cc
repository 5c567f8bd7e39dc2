#include "safelaunch/ranks/lock_waits.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::ranks;
using namespace std::chrono_literals;

TEST_CASE("the path of a lock is read from the frame that waits for it", "[lock_waits]") {
  CHECK(lock_path_in("thread MainThread (innermost last)\n  train.py:9 main\n"
                     "  filelock/_api.py:8 acquire(lock=/data/a\\040lock)\n  x.py:1 sleep\n") ==
        "/data/a lock");
  CHECK(lock_path_in("  train.py:9 main\n").empty());
}

TEST_CASE("who waits for which lock is told by locks", "[lock_waits]") {
  const LockWait held{{"/x.lock", 3min, 71}, Rank{1}};
  const LockWait left{{"/y.lock", 20min, std::nullopt}, std::nullopt};
  const LockWait elsewhere{{"/z.lock", std::nullopt, 99}, std::nullopt};
  CHECK(describe({{Rank{0}, held}, {Rank{2}, held}, {Rank{3}, left}, {Rank{4}, elsewhere}}) ==
        "ranks 0 2 wait for the lock /x.lock (180s old), which rank 1 (pid 71) holds; "
        "rank 3 waits for the lock /y.lock (20min old), which no process of this host holds; "
        "rank 4 waits for the lock /z.lock, which pid 99 holds");
}
