#include "catch.h"
#include "stall_story.h"

using namespace safelaunch;

using namespace safelaunch::watch;
using namespace std::chrono_literals;

TEST_CASE("a rank that spins in a call that is not counted does not hide a stall", "[stall]") {
  const auto told = [](bool stands) {
    return is_told([stands](Stall& stall, TimePoint now) {
      stall.on_counters(Rank{0}, {4, 4}, now, stands ? Uncounted::stands : Uncounted::nothing);
      stall.on_counters(Rank{1}, {5, 4}, now);
      stall.on_activity(Rank{0}, Activity::working, now);
    });
  };
  CHECK(told(true));
  CHECK_FALSE(told(false));
}

TEST_CASE("ranks that wait for another to make a group stand still, whatever CPU the wait takes",
          "[stall]") {
  const auto told = [](Stall::Waiting waiting, Activity others) -> std::optional<StallReport> {
    Stall stall({}, kStallStart, 2, waiting);
    for (TimePoint now = kStallStart; now < kStallStart + 2h; now += 1min) {
      if (const auto action = stall.tick(now); action && action->index() == 1)
        return std::get<StallReport>(*action);
      stall.on_counters(Rank{0}, {0, 0}, now,
                        now > kStallStart ? Uncounted::meets : Uncounted::nothing);
      stall.on_counters(Rank{1}, {10, 10}, now);
      stall.on_activity(Rank{0}, Activity::working, now);
      stall.on_activity(Rank{1}, Activity::idling, now);
      stall.on_others(others, now);
    }
    return std::nullopt;
  };
  const auto report = told(Stall::Waiting::sleeps, Activity::quiet);
  REQUIRE(report);
  CHECK(report->meeting == std::vector<Rank>{{0}});
  CHECK(report->lagging == std::vector<Rank>{{1}});
  CHECK(describe(*report).find("; rank 0 waits for rank 1 to make a group") != std::string::npos);
  CHECK_FALSE(told(Stall::Waiting::sleeps, Activity::working));
}

TEST_CASE("a rank that has just come to the making of a group is not one that lags", "[stall]") {
  Stall stall({5s}, kStallStart, 3);
  std::optional<StallReport> report;
  const TimePoint comes = kStallStart + 5s;
  for (TimePoint now = kStallStart; !report; now += 500ms) {
    const auto action = stall.tick(now);
    if (action && action->index() == 1) report = std::get<StallReport>(*action);
    if (!action || action->index() != 0) continue;
    stall.on_counters(Rank{0}, {10, 10}, now,
                      now < comes            ? Uncounted::nothing
                      : now < comes + 2500ms ? Uncounted::comes
                                             : Uncounted::meets);
    stall.on_counters(Rank{1}, {10, 10}, now, Uncounted::meets);
    stall.on_counters(Rank{2}, {10, 10}, now);
  }
  CHECK(report->meeting == std::vector<Rank>{{0}, {1}});
  CHECK(report->lagging == std::vector<Rank>{{2}});
}

TEST_CASE("before a pause is known a wait for a group is told as soon as before the training",
          "[stall]") {
  Stall stall({}, kStallStart, 2);
  std::optional<StallReport> report;
  TimePoint now = kStallStart;
  for (; !report && now < kStallStart + 2h; now += 1s) {
    const auto action = stall.tick(now);
    if (action && action->index() == 1) report = std::get<StallReport>(*action);
    stall.on_counters(Rank{0}, {1, 1}, now, Uncounted::meets);
    stall.on_counters(Rank{1}, {1, 1}, now);
  }
  REQUIRE(report);
  CHECK(report->lagging == std::vector<Rank>{{1}});
  CHECK(now <= kStallStart + 5min);
}

TEST_CASE("who waits for messages stands still though nobody waits in a collective", "[stall]") {
  static constexpr Duration kNever = 2h;
  const auto told_after = [](Uncounted first) {
    Stall stall({}, kStallStart, 2);
    for (TimePoint now = kStallStart; now < kStallStart + kNever; now += 1min) {
      if (const auto action = stall.tick(now); action && action->index() == 1)
        return std::chrono::duration_cast<Duration>(now - kStallStart - 5min);
      const std::int64_t steps = std::min((now - kStallStart) / 1min, 5L);  // five, then none
      stall.on_counters(Rank{0}, {steps, steps}, now, first);
      stall.on_counters(Rank{1}, {steps, steps}, now, Uncounted::stands);
    }
    return kNever;
  };
  CHECK(told_after(Uncounted::stands) < 5min);    // a circle
  CHECK(told_after(Uncounted::nothing) > 10min);  // the first stage of a pipeline has no data
  CHECK(told_after(Uncounted::nothing) < 13min);
  CHECK(told_after(Uncounted::serves) == kNever);  // a server's worker waits for the next request
}

TEST_CASE("where a rank stands in a message, nobody is behind by the count of collectives",
          "[stall]") {
  Stall stall({10min}, kStallStart, 2);
  std::optional<StallReport> told;
  for (TimePoint now = kStallStart; !told && now < kStallStart + 2h; now += 1min) {
    const auto action = stall.tick(now);
    if (action && std::holds_alternative<StallReport>(*action))
      told = std::get<StallReport>(*action);
    stall.on_counters(Rank{0}, {}, now, Uncounted::stands);        // in recv
    stall.on_counters(Rank{1}, {77, 76}, now, Uncounted::stands);  // in a barrier, after 76 sends
  }
  REQUIRE(told);
  CHECK(told->lagging.empty());
  CHECK(told->waiting == std::set{Rank{0}, Rank{1}});
}

TEST_CASE("a stage that is stopped is behind those that wait for its messages", "[stall]") {
  Stall stall({5min}, kStallStart, 2);
  std::optional<StallReport> report;
  for (TimePoint now = kStallStart; !report && now < kStallStart + 1h; now += 1min) {
    const auto action = stall.tick(now);
    if (action && action->index() == 1) report = std::get<StallReport>(*action);
    stall.on_activity(Rank{0}, Activity::stopped, now);
    stall.on_activity(Rank{1}, Activity::idling, now);
    stall.on_counters(Rank{1}, {4, 4}, now, Uncounted::stands);
  }
  REQUIRE(report);
  CHECK(report->lagging == std::vector<Rank>{{0}});
}

TEST_CASE("ranks that wait for one which waits for a request do not stand still", "[stall]") {
  const auto told = [](Uncounted first, Uncounted last, Collectives of_first = {4, 4}) {
    Stall stall({}, kStallStart, 3);
    for (TimePoint now = kStallStart; now < kStallStart + 2h; now += 1min) {
      if (const auto action = stall.tick(now); action && action->index() == 1) return true;
      stall.on_counters(Rank{0}, of_first, now, first);
      stall.on_counters(Rank{1}, {5, 4}, now);
      stall.on_counters(Rank{2}, last == Uncounted::nothing ? Collectives{4, 4} : Collectives{5, 4},
                        now, last);
      stall.on_activity(Rank{0}, Activity::working, now);  // it looks at its clock now and then
    }
    return false;
  };
  CHECK_FALSE(told(Uncounted::serves, Uncounted::serves));
  CHECK(told(Uncounted::nothing, Uncounted::serves));
  CHECK(told(Uncounted::serves, Uncounted::nothing));         // rank 2 is stuck elsewhere
  CHECK(told(Uncounted::serves, Uncounted::serves, {5, 4}));  // all have begun it
  CHECK(told(Uncounted::meets, Uncounted::serves));
}

TEST_CASE("a rank that waits for the job's standard input waits for a request", "[stall]") {
  const auto told = [](const std::set<Rank>& readers) {
    return is_told([&](Stall& stall, TimePoint now) {
      stall.on_readers(readers);
      stall.on_counters(Rank{0}, {4, 4}, now);
      stall.on_counters(Rank{1}, {5, 4}, now);
    });
  };
  CHECK_FALSE(told({Rank{0}}));
  CHECK(told({}));
}

TEST_CASE("the time without a request is no pause of the training", "[stall]") {
  Stall stall({}, kStallStart, 2);
  TimePoint now = kStallStart;
  const auto answers_for = [&](Duration time, Collectives first, Uncounted stands) {
    for (const TimePoint end = now + time; now < end; now += 1min) {
      if (const auto action = stall.tick(now); action && action->index() == 1) return true;
      stall.on_counters(Rank{0}, first, now, stands);
      stall.on_counters(Rank{1}, {first.begun + 1, first.finished}, now);
    }
    return false;
  };
  CHECK_FALSE(answers_for(3h, {4, 4}, Uncounted::serves));
  CHECK_FALSE(answers_for(2min, {5, 5}, Uncounted::nothing));  // a request
  CHECK(answers_for(10min, {5, 5}, Uncounted::nothing));
}

TEST_CASE("a rank of gloo that computes beside a thread which receives is at work", "[stall]") {
  const auto told = [](Stall::Waiting waiting) {
    Stall stall({10min}, kStallStart, 2, waiting);
    for (TimePoint now = kStallStart; now < kStallStart + 2h; now += 1min) {
      if (const auto action = stall.tick(now); action && action->index() == 1) return true;
      stall.on_counters(Rank{0}, {4, 4}, now, Uncounted::stands);
      stall.on_counters(Rank{1}, {4, 4}, now, Uncounted::stands);
      stall.on_activity(Rank{0}, Activity::working, now);
    }
    return false;
  };
  CHECK_FALSE(told(Stall::Waiting::sleeps));
  CHECK(told(Stall::Waiting::may_spin));  // NCCL's own wait may use a CPU
}
