#include "safelaunch/watch/standstill.h"

#include "catch.h"

using namespace safelaunch;

using namespace safelaunch::watch;
using namespace std::chrono_literals;

namespace {

constexpr TimePoint kStandstillStart{std::chrono::hours(1)};

constexpr StandstillLimits kTold{.told = 180s};

std::int64_t seconds_since_start(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time - kStandstillStart).count();
}

struct Heard {
  std::vector<std::int64_t> told;
  std::vector<std::int64_t> ended;
};

/// Looks whenever it wants to; when it told, and when it had enough, in seconds.
Heard hear(Standstill& standstill, std::chrono::seconds until, bool still) {
  Heard heard;
  for (auto next = standstill.next_look(); next && *next <= kStandstillStart + until;
       next = standstill.next_look())
    if (const auto seen = standstill.on_look(still, *next))
      (seen->then == StoodStill::Then::is_told ? heard.told : heard.ended)
          .push_back(seconds_since_start(*next));
  return heard;
}

}  // namespace

TEST_CASE("a job that stands still before anybody waits is told of after the patience, then rarely",
          "[standstill]") {
  Standstill standstill(kTold, kStandstillStart);
  const Heard heard = hear(standstill, 1h, true);
  CHECK(heard.told == std::vector<std::int64_t>{180, 360, 720, 1440, 2880});
  CHECK(heard.ended.empty());
}

TEST_CASE("a job that stands still and has been told of is looked at only for the next line",
          "[standstill]") {
  Standstill standstill(kTold, kStandstillStart);
  (void)hear(standstill, 1h, true);
  CHECK(*standstill.next_look() == kStandstillStart + 5760s);
}

TEST_CASE("a job that works is looked at ever more rarely, and never told of", "[standstill]") {
  Standstill standstill(kTold, kStandstillStart);
  CHECK(hear(standstill, 1h, false).told.empty());
  CHECK(*standstill.next_look() - kStandstillStart > 1h);
  CHECK(*standstill.next_look() - kStandstillStart <= 1h + 720s);
}

TEST_CASE("a job that has moved is told of anew", "[standstill]") {
  Standstill standstill(kTold, kStandstillStart);
  CHECK(hear(standstill, 200s, true).told.size() == 1);
  (void)standstill.on_look(false, kStandstillStart + 300s);
  CHECK(hear(standstill, 700s, true).told == std::vector<std::int64_t>{660});
}

TEST_CASE("after a long look that found it still the job is told of after twice that time",
          "[standstill]") {
  Standstill standstill({.told = 8s}, kStandstillStart);
  CHECK(hear(standstill, 14s, false).told.empty());
  CHECK(standstill.on_look(true, kStandstillStart + 30s) == StoodStill{16s});
  CHECK(hear(standstill, 50s, true).told == std::vector<std::int64_t>{46});
}

TEST_CASE("without limits nobody looks", "[standstill]") {
  CHECK_FALSE(Standstill({}, kStandstillStart).next_look());
}

TEST_CASE("a job that stands still for timeouts: start has had enough time", "[standstill]") {
  Standstill standstill({.told = 180s, .ends = 600s}, kStandstillStart);
  const Heard heard = hear(standstill, 601s, true);
  CHECK(heard.told == std::vector<std::int64_t>{180, 360});
  CHECK(heard.ended == std::vector<std::int64_t>{600});
}

TEST_CASE("timeouts: start counts without init-timeout, and before it", "[standstill]") {
  for (const StandstillLimits& limits :
       {StandstillLimits{.ends = 60s}, StandstillLimits{.told = 180s, .ends = 60s}}) {
    Standstill standstill(limits, kStandstillStart);
    const Heard heard = hear(standstill, 61s, true);
    CHECK(heard.told.empty());
    CHECK(heard.ended == std::vector<std::int64_t>{60});
  }
}

TEST_CASE("timeouts: start begins anew with each sign of life, and is noticed soon after its end",
          "[standstill]") {
  Standstill standstill({.told = 180s, .ends = 600s}, kStandstillStart);
  CHECK(hear(standstill, 3h, false).ended.empty());
  const Heard heard = hear(standstill, 4h, true);
  REQUIRE_FALSE(heard.ended.empty());
  CHECK(heard.ended.front() >= (3h + 0s).count() + 600 - 150);
  CHECK(heard.ended.front() <= (3h + 0s).count() + 600 + 150);
}

TEST_CASE("what removed a standstill's cause has as much time again", "[standstill]") {
  Standstill standstill({.told = 180s, .ends = 600s}, kStandstillStart);
  CHECK(hear(standstill, 1300s, true).ended == std::vector<std::int64_t>{600, 1200});
}

TEST_CASE("a job does not stand still while nobody can look", "[standstill]") {
  Standstill standstill({.ends = 60s}, kStandstillStart);
  CHECK(hear(standstill, 30s, true).ended.empty());
  CHECK_FALSE(standstill.on_look(true, kStandstillStart + 1h));
  const auto next = standstill.next_look();
  REQUIRE(next);
  CHECK(*next > kStandstillStart + 1h);
}

TEST_CASE("the line says where all ranks stand", "[standstill]") {
  CHECK(describe_standstill(183s,
                            {{Rank{0}, "train.py:40 main → wait", "sleeping in hrtimer_nanosleep"},
                             {Rank{1}, "train.py:40 main → wait", "sleeping in hrtimer_nanosleep"},
                             {Rank{2}, "", "blocked in futex_do_wait, with nothing to wake it"}}) ==
        "all ranks have stood still for 183s, and none waits for another: ranks 0 1 in "
        "train.py:40 main → wait (sleeping in hrtimer_nanosleep), rank 2 blocked in futex_do_wait, "
        "with nothing to wake it");
  CHECK(describe_standstill(20s, {{Rank{0}, "train.py:40 main", ""}}) ==
        "the rank has stood still for 20s: rank 0 in train.py:40 main");
}
