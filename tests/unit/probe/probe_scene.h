#pragma once

#include "catch.h"
#include "safelaunch/probe/probe_run.h"

namespace safelaunch::probe {

inline constexpr TimePoint kStart{std::chrono::hours(1)};

inline PhaseReport done(Phase phase, double ms = 1) {
  PhaseReport report;
  report.phase = phase;
  report.ms = ms;
  if (phase == Phase::unique_id) report.id = "c0ffee";
  if (phase == Phase::bandwidth) report.gb_per_s = 10;
  return report;
}

inline PhaseReport told(Phase phase, PhaseResult result, std::string words) {
  PhaseReport report;
  report.phase = phase;
  report.result = result;
  report.words = std::move(words);
  return report;
}

/// A probe with a history, and all actions since the last look.
struct Scene {
  Run run;
  TimePoint now = kStart;
  std::vector<Action> actions;

  explicit Scene(int ranks, const Limits& limits = {}) : run(ranks, limits, kStart) {}

  void happens(const Event& event) {
    for (Action& action : run.on(event, now)) actions.push_back(std::move(action));
  }
  void rank_done(int rank, Phase last) {
    for (int i = 0; i <= static_cast<int>(last); ++i)
      happens(RankReported{rank, done(static_cast<Phase>(i))});
  }
  void deadline_comes() {
    REQUIRE(run.deadline());
    now = *run.deadline();
    happens(TimePassed{});
  }
  std::vector<Action> news() { return std::exchange(actions, {}); }
};

using Actions = std::vector<Action>;

}  // namespace safelaunch::probe
