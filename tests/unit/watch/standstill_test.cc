#include "safelaunch/watch/standstill.h"

#include "catch.h"

using namespace safelaunch;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint t0{std::chrono::hours(1)};

/// Looks whenever it wants to; the times at which it told, in seconds.
std::vector<std::int64_t> tells(Standstill& standstill, std::chrono::seconds until, bool still) {
  std::vector<std::int64_t> told;
  for (auto next = standstill.next_look(); next && *next <= t0 + until;
       next = standstill.next_look())
    if (standstill.on_look(still, *next))
      told.push_back(std::chrono::duration_cast<std::chrono::seconds>(*next - t0).count());
  return told;
}

}  // namespace

TEST_CASE("a job that stands still before anybody waits is told of after the patience, then rarely",
          "[standstill]") {
  Standstill standstill(180s, t0);
  CHECK(tells(standstill, 1h, true) == std::vector<std::int64_t>{180, 360, 720, 1440, 2880});
}

TEST_CASE("a job that stands still and has been told of is looked at only for the next line",
          "[standstill]") {
  Standstill standstill(180s, t0);
  (void)tells(standstill, 1h, true);
  CHECK(*standstill.next_look() == t0 + 5760s);
}

TEST_CASE("a job that works is looked at ever more rarely, and never told of", "[standstill]") {
  Standstill standstill(180s, t0);
  CHECK(tells(standstill, 1h, false).empty());
  CHECK(*standstill.next_look() - t0 > 1h);
  CHECK(*standstill.next_look() - t0 <= 1h + 720s);
}

TEST_CASE("a job that has moved is told of anew", "[standstill]") {
  Standstill standstill(180s, t0);
  CHECK(tells(standstill, 200s, true).size() == 1);
  (void)standstill.on_look(false, t0 + 300s);
  CHECK_FALSE(standstill.on_look(true, t0 + 400s));
  CHECK(standstill.on_look(true, t0 + 480s) == Duration(180s));
}

TEST_CASE("after a long look that found it still the job is told of after twice that time",
          "[standstill]") {
  Standstill standstill(8s, t0);
  (void)standstill.on_look(false, t0 + 2s);
  CHECK(standstill.on_look(true, t0 + 18s) == Duration(16s));
  CHECK_FALSE(standstill.on_look(true, t0 + 20s));
  CHECK(standstill.on_look(true, t0 + 34s) == Duration(32s));
}

TEST_CASE("a patience of 0 never looks", "[standstill]") {
  CHECK_FALSE(Standstill(0s, t0).next_look());
}

TEST_CASE("the line says where all ranks stand", "[standstill]") {
  CHECK(describe_standstill(183s,
                            {{Rank{0}, "train.py:40 main → wait", "sleeping in hrtimer_nanosleep"},
                             {Rank{1}, "train.py:40 main → wait", "sleeping in hrtimer_nanosleep"},
                             {Rank{2}, "", "blocked in futex_do_wait, with nothing to wake it"}}) ==
        "no rank has used a CPU or files for 183s, and none waits for another: ranks 0 1 in "
        "train.py:40 main → wait (sleeping in hrtimer_nanosleep), rank 2 blocked in futex_do_wait, "
        "with nothing to wake it");
}
