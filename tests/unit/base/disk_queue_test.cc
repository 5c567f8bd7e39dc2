#include "safelaunch/base/disk_queue.h"

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
