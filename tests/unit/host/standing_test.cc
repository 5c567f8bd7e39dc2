#include "safelaunch/host/activity.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::host;
using namespace std::chrono_literals;

namespace {

ProcessSample process(int pid, WaitKind wait, const char* comm = "python") {
  ProcessSample sample;
  sample.facts.id = {pid, 1};
  sample.facts.state = 'S';
  sample.facts.comm = comm;
  sample.threads = {{.tid = pid, .state = 'S', .comm = comm, .waits_in = "f", .wait = wait}};
  return sample;
}

}  // namespace

TEST_CASE("a rank that looks for a file ten times a second stands still") {
  const TreeSample before{TimePoint{}, {process(71, WaitKind::timed)}};
  TreeSample after{TimePoint{} + 45s, {process(71, WaitKind::timed)}};
  after.processes[0].facts.cpu = 50ms;
  CHECK(stood_still(before, after) == "sleeping in f");
}

TEST_CASE(
    "a rank that asks for a lock twenty times a second stands still, one that is seen at work does "
    "not") {
  constexpr auto kHundredthAndMore = 700ms;
  const auto [then, now, stands] = GENERATE(table<WaitKind, WaitKind, bool>({
      {WaitKind::timed, WaitKind::timed, true},
      {WaitKind::timed, WaitKind::unknown, false},
      {WaitKind::unknown, WaitKind::timed, false},
  }));
  const TreeSample before{TimePoint{}, {process(71, then)}};
  TreeSample after{TimePoint{} + 45s, {process(71, now)}};
  after.processes[0].facts.cpu = kHundredthAndMore;
  CHECK(stood_still(before, after).has_value() == stands);
}

TEST_CASE("a rank that does anything does not stand still") {
  const TreeSample before{TimePoint{}, {process(71, WaitKind::timed)}};
  TreeSample after{TimePoint{} + 45s, {process(71, WaitKind::timed)}};
  SECTION("CPU, though little of it") {
    after.processes[0].facts.cpu = 2s;
  }
  SECTION("io") {
    after.processes[0].io_bytes = 1'000'000;
  }
  SECTION("a child") {
    after.processes.push_back(process(72, WaitKind::inner, "tar"));
  }
  SECTION("a person at a prompt") {
    after.processes[0].threads[0].at_terminal = true;
  }
  SECTION("gone") {
    after.processes.clear();
  }
  CHECK_FALSE(stood_still(before, after));
}
