#include "safelaunch/watch/activity_sampler.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::watch;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint t0{std::chrono::hours(1)};

host::TreeSample sample(TimePoint at, char state, Duration cpu = {}) {
  host::ProcessSample process;
  process.facts.id = {71, 9};
  process.facts.state = state;
  process.facts.cpu = cpu;
  process.threads = {{.tid = 71, .state = state, .comm = "python", .waits_in = "futex_do_wait"}};
  return {at, {process}};
}

}  // namespace

TEST_CASE("one look says nothing, not even of a process that is stopped", "[activity_sampler]") {
  CHECK_FALSE(compare_looks({}, {}, sample(t0, 'T')));
  CHECK(compare_looks({}, sample(t0, 'T'), sample(t0 + 1s, 'T'))->activity == Activity::stopped);
}

TEST_CASE("looks that are too close are compared with the one before", "[activity_sampler]") {
  const host::TreeSample older = sample(t0, 'S', 0ms);
  const host::TreeSample newer = sample(t0 + 1s, 'S', 800ms);
  const host::TreeSample newest = sample(t0 + 1100ms, 'S', 800ms);
  CHECK(compare_looks(older, newer, newest)->activity == Activity::working);
  CHECK(compare_looks(newer, newest, sample(t0 + 2200ms, 'S', 800ms))->activity !=
        Activity::working);
}

TEST_CASE("a process that is gone is not seen", "[activity_sampler]") {
  CHECK_FALSE(compare_looks({}, sample(t0, 'S'), host::TreeSample{t0 + 1s, {}}));
}
