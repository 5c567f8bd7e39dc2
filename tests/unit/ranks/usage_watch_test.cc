#include "safelaunch/ranks/usage_watch.h"

#include "catch.h"
#include "tests/unit/gpu/made_gpus.h"

using namespace safelaunch;
using namespace safelaunch::ranks;
using safelaunch::testing::facts_of;
using safelaunch::testing::made_gpu;
using safelaunch::testing::with_process;
using namespace std::chrono_literals;

namespace {

const TimePoint kBegin{1h};

int looks_of_a_chatty_job(TimePoint::duration lasts) {
  UsageClock clock(kBegin);
  int looks = 0;
  for (TimePoint now = kBegin; now <= kBegin + lasts; now += 1s) {
    if (!clock.is_due(now)) continue;
    clock.taken(now);
    ++looks;
  }
  return looks;
}

int wakes_of_a_silent_job(TimePoint::duration lasts) {
  UsageClock clock(kBegin);
  int wakes = 0;
  for (; clock.wake_at() <= kBegin + lasts; ++wakes) clock.taken(clock.wake_at());
  return wakes;
}

}  // namespace

TEST_CASE("a job that is over within two seconds is not looked at", "[usage]") {
  const UsageClock clock(kBegin);
  CHECK_FALSE(clock.is_due(kBegin + 1999ms));
  CHECK(clock.is_due(kBegin + 2s));
}

TEST_CASE("the figures of a month are some two hundred, however much a job says", "[usage]") {
  CHECK(looks_of_a_chatty_job(1min) > 15);
  CHECK(looks_of_a_chatty_job(30 * 24h) < 250);
}

TEST_CASE("a silent job is looked at after a minute, then twice as rarely each time", "[usage]") {
  CHECK(wakes_of_a_silent_job(59s) == 0);
  CHECK(wakes_of_a_silent_job(1min) == 1);
  CHECK(wakes_of_a_silent_job(10min) == 4);
  CHECK(wakes_of_a_silent_job(24h) < 35);
}

TEST_CASE("GPUs are asked after twenty seconds, then ever more rarely", "[usage]") {
  UsageClock clock(kBegin);
  CHECK_FALSE(clock.are_gpus_due(kBegin + 19s));
  CHECK(clock.are_gpus_due(kBegin + 20s));
  clock.asked_gpus(kBegin + 80min);
  CHECK_FALSE(clock.are_gpus_due(kBegin + 89min));
  CHECK(clock.are_gpus_due(kBegin + 90min));
}

TEST_CASE("a rank's memory of all GPUs is added up, and a stranger's is nobody's", "[usage]") {
  gpu::Gpu first = with_process(with_process(made_gpu(0), 71, 1'000), 99, 500);
  first.busy_percent = 97;
  const gpu::Facts facts = facts_of({first, with_process(made_gpu(1), 71, 24)});
  const auto event = gpus_event(facts, {{71, Rank{3}}, {72, Rank{4}}});
  CHECK(event.gpu == std::vector{0, 1});
  CHECK(event.used == std::vector{1'500, 24});
  CHECK(event.busy == std::vector{97, -1});
  CHECK(event.ranks == std::vector{3});
  CHECK(event.held == std::vector{1'024});
}

TEST_CASE("two looks are two seconds apart at least, and a sixteenth of the age later on",
          "[usage]") {
  UsageClock clock(kBegin);
  clock.taken(kBegin + 16s);
  CHECK_FALSE(clock.is_due(kBegin + 17s));
  CHECK(clock.is_due(kBegin + 18s));
  clock.taken(kBegin + 160s);
  CHECK_FALSE(clock.is_due(kBegin + 169s));
  CHECK(clock.is_due(kBegin + 170s));
}

TEST_CASE("a silent job is never left alone for longer than an hour", "[usage]") {
  UsageClock clock(kBegin);
  clock.taken(kBegin + 30 * 24h);
  CHECK(clock.wake_at() == kBegin + 30 * 24h + 1h);
}

TEST_CASE("GPUs on which no rank runs are told without holders", "[usage]") {
  const auto idle = gpus_event(facts_of({made_gpu(0)}), {{71, Rank{0}}});
  CHECK(idle.gpu == std::vector{0});
  CHECK(idle.ranks.empty());
  CHECK(gpus_event(facts_of({}), {}).gpu.empty());
}

TEST_CASE("several processes of one rank hold its memory together", "[usage]") {
  const gpu::Facts facts = facts_of({with_process(with_process(made_gpu(0), 71, 1'000), 72, 500)});
  const auto event = gpus_event(facts, {{71, Rank{0}}, {72, Rank{0}}});
  CHECK(event.ranks == std::vector{0});
  CHECK(event.held == std::vector{1'500});
}

TEST_CASE("ranks are told in their order, whichever GPU they are on", "[usage]") {
  const gpu::Facts facts =
      facts_of({with_process(made_gpu(0), 72, 2), with_process(made_gpu(1), 71, 1)});
  const auto event = gpus_event(facts, {{71, Rank{1}}, {72, Rank{5}}});
  CHECK(event.ranks == std::vector{1, 5});
  CHECK(event.held == std::vector{1, 2});
}
