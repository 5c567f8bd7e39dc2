#include "safelaunch/probe/probe_run.h"

#include "catch.h"

using namespace safelaunch;
using namespace std::chrono_literals;

namespace {

const TimePoint t0{1h};

PhaseReport done(ProbePhase phase, double ms = 1) {
  PhaseReport report;
  report.phase = phase;
  report.ms = ms;
  if (phase == ProbePhase::unique_id) report.id = "c0ffee";
  if (phase == ProbePhase::bandwidth) report.gb_per_s = 10;
  return report;
}

PhaseReport told(ProbePhase phase, PhaseResult result, std::string words) {
  PhaseReport report;
  report.phase = phase;
  report.result = result;
  report.words = std::move(words);
  return report;
}

/// A probe with a history, and all actions since the last look.
struct Scene {
  ProbeRun run;
  TimePoint now = t0;
  std::vector<ProbeAction> actions;

  explicit Scene(int ranks, const ProbeLimits& limits = {}) : run(ranks, limits, t0) {}

  void happens(const ProbeEvent& event) {
    for (ProbeAction& action : run.on(event, now)) actions.push_back(std::move(action));
  }
  void rank_done(int rank, ProbePhase last) {
    for (int i = 0; i <= static_cast<int>(last); ++i)
      happens(RankReported{rank, done(static_cast<ProbePhase>(i))});
  }
  void deadline_comes() {
    REQUIRE(run.deadline());
    now = *run.deadline();
    happens(ProbeTimePassed{});
  }
  std::vector<ProbeAction> news() { return std::exchange(actions, {}); }
};

using Actions = std::vector<ProbeAction>;

}  // namespace

TEST_CASE("rank 0's id is handed out, and ranks end when all have measured") {
  Scene scene(2);
  scene.rank_done(0, ProbePhase::bandwidth);
  CHECK(scene.news() == Actions{HandOutId{"c0ffee"}});
  scene.rank_done(1, ProbePhase::bandwidth);
  CHECK(scene.news() == Actions{LetRanksEnd{}});
  scene.happens(ProbeRankEnded{0, "exit status 0"});
  CHECK(scene.news().empty());
  scene.happens(ProbeRankEnded{1, "exit status 0"});
  CHECK(scene.news() == Actions{ProbeDone{}});
  CHECK(scene.run.verdict() == ProbeVerdict{ProbeWorks{1, 1, 10.0}});
  CHECK_FALSE(scene.run.deadline());
}

TEST_CASE("init is timed by the rank that came last, bandwidth by the slowest") {
  Scene scene(2);
  for (const int rank : {0, 1}) scene.rank_done(rank, ProbePhase::unique_id);
  scene.happens(RankReported{0, done(ProbePhase::init, 900)});
  scene.happens(RankReported{1, done(ProbePhase::init, 300)});
  for (const int rank : {0, 1})
    for (const ProbePhase phase : {ProbePhase::first_all_reduce, ProbePhase::checked})
      scene.happens(RankReported{rank, done(phase, 5)});
  PhaseReport slow = done(ProbePhase::bandwidth);
  slow.gb_per_s = 4;
  scene.happens(RankReported{0, done(ProbePhase::bandwidth)});
  scene.happens(RankReported{1, slow});
  CHECK(scene.run.verdict() == ProbeVerdict{ProbeWorks{300, 5, 4.0}});
}

TEST_CASE("one rank has no bandwidth: it meets nobody") {
  Scene scene(1);
  scene.rank_done(0, ProbePhase::bandwidth);
  CHECK(scene.run.verdict() == ProbeVerdict{ProbeWorks{1, 1, std::nullopt}});
}

TEST_CASE("ranks that wait in init past its deadline are named, aborted, and killed only then") {
  Scene scene(3);
  for (const int rank : {0, 1, 2}) scene.rank_done(rank, ProbePhase::unique_id);
  scene.news();
  scene.deadline_comes();
  CHECK(scene.now == t0 + ProbeLimits()[ProbePhase::init]);
  CHECK(scene.news() == Actions{AbortRanks{}});
  scene.deadline_comes();
  CHECK(scene.now == t0 + ProbeLimits()[ProbePhase::init] + 1s);
  CHECK(scene.news() == Actions{KillRanks{}});
  for (const int rank : {0, 1, 2}) scene.happens(ProbeRankEnded{rank, "killed by SIGKILL"});
  CHECK(scene.news() == Actions{ProbeDone{}});
  CHECK(scene.run.verdict() == ProbeVerdict{ProbeHung{ProbePhase::init, {0, 1, 2}}});
}

TEST_CASE("whoever is further on waits for the last, and is not to blame") {
  Scene scene(3);
  scene.rank_done(0, ProbePhase::unique_id);
  scene.rank_done(1, ProbePhase::driver);
  scene.rank_done(2, ProbePhase::unique_id);
  scene.deadline_comes();
  CHECK(scene.now == t0 + ProbeLimits()[ProbePhase::context]);
  CHECK(scene.run.verdict() == ProbeVerdict{ProbeHung{ProbePhase::context, {1}}});
}

TEST_CASE("a driver that never answers hangs the probe in its first phase") {
  Scene scene(2);
  scene.deadline_comes();
  CHECK(scene.now == t0 + ProbeLimits()[ProbePhase::driver]);
  CHECK(scene.news() == Actions{AbortRanks{}});
  CHECK(scene.run.verdict() == ProbeVerdict{ProbeHung{ProbePhase::driver, {0, 1}}});
}

TEST_CASE("each phase has its deadline anew, from when the last rank enters it") {
  Scene scene(2);
  scene.now = t0 + 20s;
  scene.rank_done(0, ProbePhase::driver);
  CHECK(scene.run.deadline() == t0 + ProbeLimits()[ProbePhase::driver]);
  scene.now = t0 + 25s;
  scene.rank_done(1, ProbePhase::driver);
  CHECK(scene.run.deadline() == t0 + 25s + ProbeLimits()[ProbePhase::context]);
}

TEST_CASE("a word about time before the deadline changes nothing") {
  Scene scene(1);
  scene.happens(ProbeTimePassed{});
  CHECK(scene.news().empty());
  CHECK(scene.run.deadline() == t0 + ProbeLimits()[ProbePhase::driver]);
}

TEST_CASE("after a failure the others may tell theirs, then the rest is aborted") {
  Scene scene(3);
  for (const int rank : {0, 1, 2}) scene.rank_done(rank, ProbePhase::unique_id);
  scene.news();
  scene.happens(RankReported{2, told(ProbePhase::init, PhaseResult::failed, "remote error")});
  scene.happens(RankReported{0, told(ProbePhase::init, PhaseResult::failed, "system error")});
  CHECK(scene.news().empty());
  scene.deadline_comes();
  CHECK(scene.now == t0 + 300ms);
  CHECK(scene.news() == Actions{AbortRanks{}});
  for (const int rank : {0, 1, 2}) scene.happens(ProbeRankEnded{rank, "exit status 0"});
  CHECK(scene.run.verdict() == ProbeVerdict{ProbeFailed{{{2, ProbePhase::init, "remote error"},
                                                         {0, ProbePhase::init, "system error"}}}});
}

TEST_CASE("a rank that crashes failed in the phase that it was in") {
  Scene scene(2);
  scene.rank_done(0, ProbePhase::unique_id);
  scene.rank_done(1, ProbePhase::unique_id);
  scene.happens(ProbeRankEnded{1, "killed by SIGSEGV"});
  scene.deadline_comes();
  scene.happens(ProbeRankEnded{0, "exit status 0"});
  CHECK(scene.run.verdict() ==
        ProbeVerdict{ProbeFailed{{{1, ProbePhase::init, "killed by SIGSEGV"}}}});
}

TEST_CASE("a rank that ends without a word failed, whatever its status") {
  Scene scene(1);
  scene.happens(ProbeRankEnded{0, "exit status 0"});
  CHECK(scene.run.verdict() ==
        ProbeVerdict{ProbeFailed{{{0, ProbePhase::driver, "exit status 0"}}}});
}

TEST_CASE("a probe that declines tells nothing against the profile") {
  Scene scene(2);
  scene.rank_done(0, ProbePhase::driver);
  scene.happens(RankReported{0, told(ProbePhase::context, PhaseResult::declined, "no room")});
  CHECK(scene.news() == Actions{AbortRanks{}});
  for (const int rank : {0, 1}) scene.happens(ProbeRankEnded{rank, "exit status 0"});
  CHECK(scene.run.verdict() == ProbeVerdict{ProbeUntold{"no room"}});
}

TEST_CASE("a probe that is not wanted any more is aborted, once") {
  Scene scene(1);
  scene.happens(ProbeUnwanted{"the job needs the GPUs"});
  scene.happens(ProbeUnwanted{"again"});
  CHECK(scene.news() == Actions{AbortRanks{}});
  scene.happens(ProbeRankEnded{0, "exit status 0"});
  CHECK(scene.run.verdict() == ProbeVerdict{ProbeUntold{"the job needs the GPUs"}});
}

TEST_CASE("a communicator that cannot be taken down does not take the verdict back") {
  Scene scene(1);
  scene.rank_done(0, ProbePhase::bandwidth);
  scene.news();
  scene.deadline_comes();
  CHECK(scene.news() == Actions{KillRanks{}});
  scene.happens(ProbeRankEnded{0, "killed by SIGKILL"});
  CHECK(scene.news() == Actions{ProbeDone{}});
  CHECK(std::holds_alternative<ProbeWorks>(scene.run.verdict()));
}

TEST_CASE("lines out of turn are not believed") {
  Scene scene(1);
  scene.happens(RankReported{0, done(ProbePhase::bandwidth)});
  scene.happens(RankReported{0, done(ProbePhase::driver)});
  scene.happens(RankReported{0, done(ProbePhase::driver)});
  CHECK(scene.run.deadline() == t0 + ProbeLimits()[ProbePhase::context]);
}
