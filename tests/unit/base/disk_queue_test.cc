#include "safelaunch/base/disk_queue.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <vector>

#include "catch.h"

using namespace safelaunch;

namespace {

constexpr Duration kLong{60'000};

/// A disk that answers nothing until it is let go.
struct StalledDisk {
  std::promise<void> thaw;
  DiskQueue queue;

  StalledDisk() {
    REQUIRE(queue.post(0, [until = thaw.get_future().share()] { until.wait(); }));
  }
  ~StalledDisk() {
    thaw.set_value();
    CHECK(queue.drain(kLong));
  }
};

}  // namespace

TEST_CASE("what is to be written is written in its order") {
  std::vector<int> done;
  DiskQueue queue;
  for (int i = 0; i < 1000; ++i) REQUIRE(queue.post(8, [&done, i] { done.push_back(i); }));
  REQUIRE(queue.drain(kLong));
  REQUIRE(done.size() == 1000);
  for (int i = 0; i < 1000; ++i) CHECK(done[static_cast<std::size_t>(i)] == i);
  CHECK(queue.within(kLong, [&] { return done.size(); }) == 1000U);
}

TEST_CASE("a stalled disk keeps nobody waiting beyond the limit, and takes a bounded amount") {
  StalledDisk disk;
  CHECK_FALSE(disk.queue.drain(Duration{10}));
  CHECK(disk.queue.within(Duration{10}, [] { return 1; }) == std::nullopt);
  std::size_t taken = 0;
  while (disk.queue.post(64 * 1024, [] {})) taken += 64 * 1024;
  CHECK(taken <= 8U << 20);
  CHECK(taken > 4U << 20);
  CHECK_FALSE(disk.queue.has_room());
}

TEST_CASE("a task that is larger than the queue is taken where nothing else waits") {
  DiskQueue queue;
  bool done = false;
  REQUIRE(queue.post(100U << 20, [&done] { done = true; }));
  REQUIRE(queue.drain(kLong));
  CHECK(done);
  CHECK(queue.has_room());
}

TEST_CASE("behind a stalled task a byte too many is refused, and a task without bytes is not") {
  StalledDisk disk;
  REQUIRE(disk.queue.post(8U << 20, [] {}));
  CHECK_FALSE(disk.queue.post(1, [] {}));
  CHECK(disk.queue.post(0, [] {}));
}

TEST_CASE("tasks without bytes are bounded by their number") {
  StalledDisk disk;
  int taken = 0;
  while (taken < 100'000 && disk.queue.post(0, [] {})) ++taken;
  CHECK(taken == 65'535);  // and the one that stalls
}

TEST_CASE("a queue in which nothing waits is neither stuck nor to be waited for") {
  DiskQueue queue;
  CHECK_FALSE(queue.stuck());
  CHECK(queue.drain(Duration{0}));
}

TEST_CASE("a queue that goes while tasks wait does them all the same") {
  std::promise<void> last;
  auto done = last.get_future();
  {
    DiskQueue queue;
    REQUIRE(queue.post(1, [] {}));
    REQUIRE(queue.post(1, [&last] { last.set_value(); }));
  }
  CHECK(done.wait_for(kLong) == std::future_status::ready);
}

TEST_CASE("where the host gives no thread a task is refused, and the program goes on") {
  const int child = ::fork();
  if (child == 0) {
    const rlimit none{0, 0};
    // Root is above the limit.
    const bool limited = (::geteuid() != 0 || ::setresuid(61'234, 61'234, 61'234) == 0) &&
                         ::setrlimit(RLIMIT_NPROC, &none) == 0;
    DiskQueue queue;
    const bool refused = !queue.post(1, [] {}) && !queue.post(1, [] {});
    ::_exit(!limited || (refused && queue.has_no_thread() && queue.drain(Duration{0}) &&
                         queue.has_room())
                ? 0
                : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}
