#include "catch.h"
#include "stall_story.h"

using namespace safelaunch;

using namespace safelaunch::watch;
using namespace std::chrono_literals;

TEST_CASE("scene k: a standstill is reported with the ranks that are behind", "[stall]") {
  Stall stall({10min}, kStallStart);

  const std::map<Rank, Collectives> stuck{
      {Rank{0}, {42, 41}}, {Rank{1}, {42, 41}}, {Rank{3}, {41, 41}}};
  const auto report = run(stall, kStallStart + 1h, stuck);

  REQUIRE(report);
  CHECK(report->lagging == std::vector<Rank>{{3}});
  CHECK(describe(*report) ==
        "no output and no collective finished for 10min; rank 3 is behind (41 of 42 collectives "
        "begun)");
}

TEST_CASE("a standstill is told again whenever it has become twice as long, and its end once",
          "[stall]") {
  Stall stall({10min}, kStallStart);
  const std::map<Rank, Collectives> stuck{{Rank{0}, {2, 1}}, {Rank{1}, {1, 1}}};
  CHECK_FALSE(run(stall, kStallStart + 1h, stuck)->again);
  const auto second = run(stall, kStallStart + 1h, stuck);
  CHECK(second->again);
  CHECK(second->silent_for > 20min);
  CHECK(second->silent_for < 26min);

  const TimePoint moves = kStallStart + 30min;
  stall.on_counters(Rank{1}, {2, 1}, moves);
  CHECK(std::get<StallOver>(*stall.tick(moves)).stood == 30min);
  CHECK(std::holds_alternative<AskCounters>(*stall.tick(moves)));
}

TEST_CASE("a stall at the job's own pace is told after twice its longest pause", "[stall]") {
  Stall stall({}, kStallStart, 2);
  TimePoint now = kStallStart;
  int step = 1;
  const auto trains_for = [&](Duration pause, int times) {
    for (int i = 0; i < times; ++i, ++step) {
      CHECK_FALSE(run(stall, now + pause, {{Rank{0}, {step, step}}, {Rank{1}, {step, step}}}));
      now += pause;
    }
  };
  const auto told_after = [&](int finished) -> Duration {
    const auto report = run(stall, now + 10h,
                            {{Rank{0}, {finished + 1, finished}}, {Rank{1}, {finished, finished}}});
    return report ? report->silent_for : Duration::zero();
  };
  SECTION("of two minutes at least") {
    trains_for(1min, 5);
    const Duration after = told_after(98);
    CHECK(after > 2min);
    CHECK(after < 2min + 10s);
  }
  SECTION("of as long as a checkpoint takes") {
    trains_for(1min, 5);
    trains_for(6min, 1);
    CHECK(told_after(98) > 8min);
  }
  SECTION("and of half an hour where it has never moved") {
    CHECK(told_after(1) > 29min);
  }
  SECTION("and has moved before it was first asked where it had finished several") {
    CHECK(told_after(3) < 3min);
  }
}

TEST_CASE("a stall at the job's own pace is told only where somebody waits, and all count",
          "[stall]") {
  const auto told = [](const std::map<Rank, Collectives>& counters) {
    Stall stall({}, kStallStart, 2);
    return run(stall, kStallStart + 10h, counters).has_value();
  };
  CHECK(told({{Rank{0}, {5, 4}}, {Rank{1}, {4, 4}}}));
  CHECK_FALSE(told({{Rank{0}, {4, 4}}, {Rank{1}, {4, 4}}}));  // a server without a request
  CHECK_FALSE(told({{Rank{0}, {5, 4}}}));                     // the other is on another node
  CHECK_FALSE(told({{Rank{0}, {5, 4}}, {Rank{1}, {0, 0}}}));  // a torch that counts nothing
}

TEST_CASE("a command that goes on after its ranks were lost is told", "[stall]") {
  const auto told = [](std::set<Rank> lost) -> std::string {
    Stall stall({}, kStallStart, 2);
    for (TimePoint now = kStallStart; now < kStallStart + 2h; now += 1min) {
      if (const auto action = stall.tick(now); action && action->index() == 1)
        return describe(std::get<StallReport>(*action));
      if (now > kStallStart + 5min) {
        stall.on_lost(lost);
        continue;
      }
      const int reached = static_cast<int>((now - kStallStart) / 1min);
      for (const int rank : {0, 1}) stall.on_counters(Rank{rank}, {reached, reached}, now);
    }
    return {};
  };
  CHECK(told({Rank{0}, Rank{1}})
            .ends_with("; ranks 0 1 have ended, and the command goes on without them"));
  CHECK(told({}).empty());
}

TEST_CASE("a rank that was seen to end, and is one of those that lag, has not left alone",
          "[stall]") {
  Stall stall({}, kStallStart, 2);
  for (const int rank : {0, 1}) stall.on_counters(Rank{rank}, {3 - rank, 2 - rank, 1}, kStallStart);
  stall.on_activity(Rank{1}, Activity::dead, kStallStart);
  std::string told;
  for (TimePoint now = kStallStart; told.empty() && now < kStallStart + 2h; now += 1min) {
    const auto action = stall.tick(now);
    if (action && action->index() == 1) told = describe(std::get<StallReport>(*action));
    for (const int rank : {0, 1}) stall.on_counters(Rank{rank}, {3 - rank, 2 - rank, 1}, now);
  }
  CHECK(told.ends_with("; rank 1 is behind (2 of 3 collectives begun)"));
}

TEST_CASE(
    "a rank that waits in a collective is not the one that is missed in the making of a group",
    "[stall]") {
  Stall stall({1min}, kStallStart, 2);
  std::optional<StallReport> report;
  for (TimePoint now = kStallStart; !report; now += 1s) {
    const auto action = stall.tick(now);
    if (action && action->index() == 1) report = std::get<StallReport>(*action);
    stall.on_counters(Rank{0}, {0, 0}, now, Uncounted::meets);
    stall.on_counters(Rank{1}, {11, 10}, now);
  }
  CHECK(report->lagging.empty());
  CHECK(describe(*report).ends_with("; rank 0 waits for others to make a group"));
}

TEST_CASE("a rank that was stopped before it told its counters is named where others wait",
          "[stall]") {
  const auto told = [](Activity first, Activity last) -> std::optional<StallReport> {
    Stall stall({}, kStallStart, 2);
    for (TimePoint now = kStallStart; now < kStallStart + 25min; now += 1min) {
      const auto action = stall.tick(now);
      if (action && action->index() == 1) return std::get<StallReport>(*action);
      const std::int64_t finished = now < kStallStart + 2min ? 40 : 41;
      stall.on_counters(Rank{0}, {finished + 1, finished}, now);
      stall.on_activity(Rank{0}, first, now);
      stall.on_activity(Rank{1}, last, now);
    }
    return std::nullopt;
  };
  const auto report = told(Activity::idling, Activity::stopped);
  REQUIRE(report);
  CHECK(report->lagging == std::vector<Rank>{{1}});
  CHECK(describe(*report) == "no collective finished for 300s");
  CHECK_FALSE(told(Activity::idling, Activity::quiet));     // it may count with a hook that is busy
  CHECK_FALSE(told(Activity::stopped, Activity::stopped));  // somebody holds the job
}

TEST_CASE(
    "how long before a standstill was seen it may have begun is the time between two questions",
    "[stall]") {
  const auto unsure = [](Duration timeout) {
    Stall stall({timeout}, kStallStart);
    return run(stall, kStallStart + 2h, {{Rank{0}, {2, 1}}, {Rank{1}, {1, 1}}})->unsure;
  };
  CHECK(unsure(4s) == 2s);
  CHECK(unsure(15min) == 1min);
}

TEST_CASE("a rank that does not answer any more is not said to be behind", "[stall]") {
  Stall stall({10min}, kStallStart);
  stall.on_counters(Rank{1}, {800, 800}, kStallStart);

  const auto report = run(stall, kStallStart + 1h, {{Rank{0}, {855, 854}}});

  REQUIRE(report);
  CHECK(report->lagging.empty());
}

TEST_CASE("a job that went on in silence after a report is reported when it stands still again",
          "[stall]") {
  Stall stall({10min}, kStallStart);
  REQUIRE(run(stall, kStallStart + 11min, {{Rank{0}, {1, 1}}, {Rank{1}, {1, 1}}}));

  const auto again = run(stall, kStallStart + 2h, {{Rank{0}, {9, 8}}, {Rank{1}, {8, 8}}});

  REQUIRE(again);
  CHECK(again->lagging == std::vector<Rank>{{1}});
}

TEST_CASE("a rank that has begun as many collectives and finished fewer is behind too", "[stall]") {
  Stall stall({10min}, kStallStart);

  const auto report = run(stall, kStallStart + 1h, {{Rank{0}, {42, 42}}, {Rank{1}, {42, 41}}});

  REQUIRE(report);
  CHECK(describe(*report) ==
        "no output and no collective finished for 10min; rank 1 is behind (41 of 42 collectives "
        "finished)");
}

TEST_CASE("a job that writes now and then does not stand still", "[stall]") {
  Stall stall({10min}, kStallStart);
  for (int i = 1; i <= 20; ++i) {
    CHECK_FALSE(run(stall, kStallStart + i * 9min));
    stall.on_output(kStallStart + i * 9min);
  }
}

TEST_CASE("output is no sign of life where every rank counts its collectives", "[stall]") {
  const bool all_count = GENERATE(true, false);
  Stall stall({10min}, kStallStart, 2);
  std::map<Rank, Collectives> stuck{{Rank{0}, {42, 41}}, {Rank{1}, {41, 41}}};
  if (!all_count) stuck[Rank{1}] = {};  // a torch without a flight recorder
  std::optional<StallReport> report;
  for (int i = 1; i <= 20 && !report; ++i) {
    report = run(stall, kStallStart + i * 1min, stuck);
    stall.on_output(kStallStart + i * 1min);
  }
  REQUIRE(report.has_value() == all_count);
  if (report)
    CHECK(describe(*report) ==
          "no collective finished for 10min; rank 1 is behind (41 of 42 collectives begun)");
}

TEST_CASE("a rank that works outside of a collective does not stand still", "[stall]") {
  const bool inside = GENERATE(true, false);  // NCCL uses a whole CPU to wait
  Stall stall({10min}, kStallStart, 2);
  const std::map<Rank, Collectives> counters{{Rank{0}, {42, inside ? 41 : 42}},
                                             {Rank{1}, {42, 42}}};
  std::optional<StallReport> report;
  for (int i = 1; i <= 20 && !report; ++i) {
    report = run(stall, kStallStart + i * 4min, counters);
    stall.on_activity(Rank{0}, Activity::working, kStallStart + i * 4min);
    stall.on_activity(Rank{1}, Activity::idling, kStallStart + i * 4min);
  }
  CHECK(report.has_value() == inside);
}

TEST_CASE("ranks that work long while others wait for them are told", "[stall]") {
  const std::map<Rank, Collectives> before{{Rank{0}, {7, 7}}, {Rank{1}, {7, 7}}};
  const std::map<Rank, Collectives> evaluates{{Rank{0}, {8, 8}}, {Rank{1}, {9, 8}}};
  Stall stall({}, kStallStart, 2);
  TimePoint now = kStallStart;
  const auto told = [&](Duration within, Activity does) -> std::optional<StallReport> {
    for (const TimePoint end = now + within; now < end; now += 10s) {
      stall.on_activity(Rank{0}, does, now);
      if (const auto report = run(stall, now, evaluates)) return report;
    }
    return std::nullopt;
  };
  run(stall, now += 2min, before);
  CHECK_FALSE(told(9min, Activity::working));
  SECTION("in ten minutes at least, and again when it has become twice as long") {
    const auto report = told(5min, Activity::working);
    REQUIRE(report);
    CHECK(report->working == std::vector<Rank>{{0}});
    CHECK(describe(*report).find("; rank 0 works; rank 0 is behind (8 of 9 ") != std::string::npos);
    CHECK_FALSE(told(9min, Activity::working));
    CHECK(told(6min, Activity::working));
  }
  SECTION("but not where a person has one in hand") {
    CHECK_FALSE(told(1h, Activity::attended));
  }
  SECTION("and one that works no more stands still") {
    CHECK(told(3min, Activity::idling)->working.empty());
  }
}

TEST_CASE("a rank that works for ever is told where a time is given, too", "[stall]") {
  Stall stall({30s}, kStallStart, 2);
  std::optional<TimePoint> told;
  for (TimePoint now = kStallStart; now < kStallStart + 2h && !told; now += 10s) {
    const auto action = stall.tick(now);
    const auto* report = action ? std::get_if<StallReport>(&*action) : nullptr;
    if (report != nullptr) {
      CHECK(report->working == std::vector<Rank>{{0}});
      told = now;
    }
    const int steps = std::min(5, static_cast<int>((now - kStallStart) / 10s));
    stall.on_counters(Rank{0}, {steps, steps, 1}, now);
    stall.on_counters(Rank{1}, {steps + 1, steps, 1}, now);
    stall.on_activity(Rank{0}, Activity::working, now);
  }
  REQUIRE(told);
  CHECK(*told > kStallStart + 10min);
  CHECK(*told < kStallStart + 12min);
}

TEST_CASE("a rank that works as long as it once did is not told", "[stall]") {
  Stall stall({}, kStallStart, 2);
  TimePoint now = kStallStart;
  std::int64_t step = 1;
  const auto told_in_a_step_of = [&](Duration length) {
    ++step;
    const std::map<Rank, Collectives> counted{{Rank{0}, {step, step}}, {Rank{1}, {step + 1, step}}};
    bool told = false;
    for (const TimePoint end = now + length; now < end; now += 10s) {
      stall.on_activity(Rank{0}, Activity::working, now);
      told = run(stall, now, counted).has_value() || told;
    }
    return told;
  };
  CHECK_FALSE(told_in_a_step_of(5min));
  CHECK_FALSE(told_in_a_step_of(5min));
  CHECK(told_in_a_step_of(20min));
  CHECK_FALSE(told_in_a_step_of(35min));
}

TEST_CASE("a rank that computes beside an open collective of gloo works", "[stall]") {
  const bool sleeps = GENERATE(true, false);
  Stall stall({10min}, kStallStart, 2, sleeps ? Stall::Waiting::sleeps : Stall::Waiting::may_spin);
  std::optional<StallReport> report;
  for (int i = 1; i <= 20 && !report; ++i) {
    report = run(stall, kStallStart + i * 4min, {{Rank{0}, {42, 41}}, {Rank{1}, {42, 41}}});
    stall.on_activity(Rank{0}, Activity::working, kStallStart + i * 4min);
  }
  CHECK(report.has_value() != sleeps);
}

TEST_CASE("once a standstill was told, only a collective ends it", "[stall]") {
  Stall stall({10min}, kStallStart, 2);
  REQUIRE(run(stall, kStallStart + 11min, {{Rank{0}, {2, 1}}, {Rank{1}, {1, 1}}}));
  stall.on_activity(Rank{1}, Activity::working, kStallStart + 12min);  // a thread, say
  CHECK(run(stall, kStallStart + 30min, {{Rank{0}, {2, 1}}, {Rank{1}, {1, 1}}})->again);
}

TEST_CASE("a collective that failed, since another rank never began it, is no movement",
          "[stall]") {
  Stall stall({10min}, kStallStart);
  REQUIRE(run(stall, kStallStart + 1h, {{Rank{0}, {6, 5}}, {Rank{1}, {5, 5}}}));
  // gloo's timeout is over: rank 0 handles its exception, and gloo counts what failed.
  const auto again = run(stall, kStallStart + 2h, {{Rank{0}, {6, 6}}, {Rank{1}, {5, 5}}});
  REQUIRE(again);
  CHECK(again->again);
  CHECK(again->counters.at(Rank{0}).waits());
  SECTION("until a rank begins another") {
    stall.on_counters(Rank{0}, {7, 6}, kStallStart + 3h);
  }
  SECTION("until the other rank begins it") {
    stall.on_counters(Rank{1}, {6, 6}, kStallStart + 3h);
  }
  CHECK(std::holds_alternative<StallOver>(*stall.tick(kStallStart + 3h)));
}

TEST_CASE("of ranks in several groups none is behind by its sum", "[stall]") {
  Stall stall({10min}, kStallStart, 2);
  const auto report =
      run(stall, kStallStart + 1h, {{Rank{0}, {80, 79, 2}}, {Rank{1}, {61, 60, 1}}});
  CHECK(report->lagging.empty());
  CHECK(describe(*report) == "no collective finished for 10min");
}

TEST_CASE("a silent job that finishes collectives does not stand still", "[stall]") {
  Stall stall({10min}, kStallStart);
  for (int i = 1; i <= 20; ++i)
    CHECK_FALSE(run(stall, kStallStart + i * 5min, {{Rank{0}, {i, i}}}));
}

TEST_CASE("without a hook a standstill is reported by the output alone", "[stall]") {
  Stall stall({10min}, kStallStart);
  const auto report = run(stall, kStallStart + 1h);
  REQUIRE(report);
  CHECK(report->lagging.empty());
}

TEST_CASE("after it has moved again a job can stand still once more", "[stall]") {
  Stall stall({10min}, kStallStart);
  REQUIRE(run(stall, kStallStart + 1h));
  stall.on_output(kStallStart + 2h);
  CHECK(run(stall, kStallStart + 3h));
}

TEST_CASE("a stall timeout of 0 reports nothing", "[stall]") {
  Stall stall({0s}, kStallStart);
  CHECK_FALSE(stall.next_deadline());
}

TEST_CASE("a job that was suspended is asked before it is said to stand still", "[stall]") {
  Stall stall({6s}, kStallStart);
  stall.on_output(kStallStart + 1s);
  const TimePoint resumed = kStallStart + 16s;

  CHECK(std::holds_alternative<AskCounters>(*stall.tick(resumed)));
  CHECK_FALSE(stall.tick(resumed));
  CHECK(stall.next_deadline() == resumed + 3s);
  CHECK(std::holds_alternative<AskCounters>(*stall.tick(resumed + 3s)));

  CHECK(stall.next_deadline() == resumed + 4s);
}

TEST_CASE("while another node has not answered, nothing is told", "[stall]") {
  Stall stall({10min}, kStallStart, 2);
  stall.on_unanswered(1);
  const std::map<Rank, Collectives> stuck{{Rank{0}, {2, 1}}, {Rank{1}, {1, 1}}};
  CHECK_FALSE(run(stall, kStallStart + 1h, stuck));
  stall.on_unanswered(0);
  CHECK(run(stall, kStallStart + 1h + 1s, stuck));
}
