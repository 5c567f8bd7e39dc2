#include "safelaunch/host/process_tree.h"

#include <unistd.h>

#include <vector>

#include "catch.h"
#include "child.h"
#include "fake_process_table.h"

using namespace safelaunch;
using namespace safelaunch::host;
using safelaunch::testing::Child;
using safelaunch::testing::eventually;
using namespace std::chrono_literals;

namespace {

constexpr std::size_t kTouched = 64U << 20;
const TimePoint kNow{1h};

TreeUsage used(Duration cpu, TimePoint at) {
  return {.at = at, .cpu = cpu};
}

}  // namespace

TEST_CASE("memory that a process has touched is its memory, and that of its child its children's") {
  const Child child([] {
    if (::fork() != 0) ::pause();
    std::vector<char> touched(kTouched, 'x');
    for (;;) ::pause();
  });
  const Procfs table;
  CHECK(eventually([&] {
    const auto usage = usage_of(child.id(), kNow, table);
    return usage && usage->pids.size() == 2 && usage->children >= kTouched &&
           usage->memory < usage->children && usage->memory > 0;
  }));
}

TEST_CASE("a process that has gone, or whose pid another one has got, uses nothing") {
  const Procfs table;
  CHECK_FALSE(usage_of({self().pid, self().start_ticks + 1}, kNow, table));
  CHECK(resident_bytes_of(-1) == 0);
}

TEST_CASE("CPU is told in per cent of one CPU, over the time between two looks") {
  CHECK(cpu_percent(used(1s, kNow), used(4s, kNow + 2s)) == 150);
  CHECK(cpu_percent(used(1s, kNow), used(1s, kNow + 2s)) == 0);
}

TEST_CASE("a child that took its CPU time away with it makes no share below nothing") {
  CHECK(cpu_percent(used(9s, kNow), used(1s, kNow + 2s)) == 0);
  CHECK(cpu_percent(used(9s, kNow), used(10s, kNow)) == 0);
}

TEST_CASE("the first look tells the share since the process was started") {
  TreeUsage usage = used(5s, kNow);
  usage.age = 10s;
  CHECK(cpu_percent(usage) == 50);
}
