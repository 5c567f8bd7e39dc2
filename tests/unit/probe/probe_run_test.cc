#include "probe_scene.h"

using namespace safelaunch;

using namespace safelaunch::probe;
using namespace std::chrono_literals;

TEST_CASE("rank 0's id is handed out, and ranks end when all have measured") {
  Scene scene(2);
  scene.rank_done(0, Phase::bandwidth);
  CHECK(scene.news() == Actions{HandOutId{"c0ffee"}});
  scene.rank_done(1, Phase::bandwidth);
  CHECK(scene.news() == Actions{LetRanksEnd{}});
  scene.happens(RankEnded{0, "exit status 0"});
  CHECK(scene.news().empty());
  scene.happens(RankEnded{1, "exit status 0"});
  CHECK(scene.news() == Actions{Done{}});
  CHECK(scene.run.verdict() == Verdict{Works{1, 1, 10.0}});
  CHECK_FALSE(scene.run.deadline());
}

TEST_CASE("init is timed by the rank that came last, bandwidth by the slowest") {
  Scene scene(2);
  for (const int rank : {0, 1}) scene.rank_done(rank, Phase::unique_id);
  scene.happens(RankReported{0, done(Phase::init, 900)});
  scene.happens(RankReported{1, done(Phase::init, 300)});
  for (const int rank : {0, 1})
    for (const Phase phase : {Phase::first_all_reduce, Phase::checked})
      scene.happens(RankReported{rank, done(phase, 5)});
  PhaseReport slow = done(Phase::bandwidth);
  slow.gb_per_s = 4;
  scene.happens(RankReported{0, done(Phase::bandwidth)});
  scene.happens(RankReported{1, slow});
  CHECK(scene.run.verdict() == Verdict{Works{300, 5, 4.0}});
}

TEST_CASE("one rank has no bandwidth: it meets nobody") {
  Scene scene(1);
  scene.rank_done(0, Phase::bandwidth);
  CHECK(scene.run.verdict() == Verdict{Works{1, 1, std::nullopt}});
}

TEST_CASE("ranks that wait in init past its deadline are named, aborted, and killed only then") {
  Scene scene(3);
  for (const int rank : {0, 1, 2}) scene.rank_done(rank, Phase::unique_id);
  scene.news();
  scene.deadline_comes();
  CHECK(scene.now == kStart + Limits()[Phase::init]);
  CHECK(scene.news() == Actions{AbortRanks{}});
  scene.deadline_comes();
  CHECK(scene.now == kStart + Limits()[Phase::init] + 1s);
  CHECK(scene.news() == Actions{KillRanks{}});
  for (const int rank : {0, 1, 2}) scene.happens(RankEnded{rank, "killed by SIGKILL"});
  CHECK(scene.news() == Actions{Done{}});
  CHECK(scene.run.verdict() == Verdict{Hung{Phase::init, {0, 1, 2}}});
}

TEST_CASE("whoever is further on waits for the last, and is not to blame") {
  Scene scene(3);
  scene.rank_done(0, Phase::unique_id);
  scene.rank_done(1, Phase::driver);
  scene.rank_done(2, Phase::unique_id);
  scene.deadline_comes();
  CHECK(scene.now == kStart + Limits()[Phase::context]);
  CHECK(scene.run.verdict() == Verdict{Hung{Phase::context, {1}}});
}

TEST_CASE("a driver that never answers hangs the probe in its first phase") {
  Scene scene(2);
  scene.deadline_comes();
  CHECK(scene.now == kStart + Limits()[Phase::driver]);
  CHECK(scene.news() == Actions{AbortRanks{}});
  CHECK(scene.run.verdict() == Verdict{Hung{Phase::driver, {0, 1}}});
}

TEST_CASE("each phase has its deadline anew, from when the last rank enters it") {
  Scene scene(2);
  scene.now = kStart + 20s;
  scene.rank_done(0, Phase::driver);
  CHECK(scene.run.deadline() == kStart + Limits()[Phase::driver]);
  scene.now = kStart + 25s;
  scene.rank_done(1, Phase::driver);
  CHECK(scene.run.deadline() == kStart + 25s + Limits()[Phase::context]);
}

TEST_CASE("a word about time before the deadline changes nothing") {
  Scene scene(1);
  scene.happens(TimePassed{});
  CHECK(scene.news().empty());
  CHECK(scene.run.deadline() == kStart + Limits()[Phase::driver]);
}

TEST_CASE("after a failure the others may tell theirs, then the rest is aborted") {
  Scene scene(3);
  for (const int rank : {0, 1, 2}) scene.rank_done(rank, Phase::unique_id);
  scene.news();
  scene.happens(RankReported{2, told(Phase::init, PhaseResult::failed, "remote error")});
  scene.happens(RankReported{0, told(Phase::init, PhaseResult::failed, "system error")});
  CHECK(scene.news().empty());
  scene.deadline_comes();
  CHECK(scene.now == kStart + 300ms);
  CHECK(scene.news() == Actions{AbortRanks{}});
  for (const int rank : {0, 1, 2}) scene.happens(RankEnded{rank, "exit status 0"});
  CHECK(scene.run.verdict() ==
        Verdict{Failed{{{2, Phase::init, "remote error"}, {0, Phase::init, "system error"}}}});
}

TEST_CASE("a rank that crashes failed in the phase that it was in") {
  Scene scene(2);
  scene.rank_done(0, Phase::unique_id);
  scene.rank_done(1, Phase::unique_id);
  scene.happens(RankEnded{1, "killed by SIGSEGV"});
  scene.deadline_comes();
  scene.happens(RankEnded{0, "exit status 0"});
  CHECK(scene.run.verdict() == Verdict{Failed{{{1, Phase::init, "killed by SIGSEGV"}}}});
}

TEST_CASE("a rank that ends without a word failed, whatever its status") {
  Scene scene(1);
  scene.happens(RankEnded{0, "exit status 0"});
  CHECK(scene.run.verdict() == Verdict{Failed{{{0, Phase::driver, "exit status 0"}}}});
}

TEST_CASE("a probe that declines tells nothing against the profile") {
  Scene scene(2);
  scene.rank_done(0, Phase::driver);
  scene.happens(RankReported{0, told(Phase::context, PhaseResult::declined, "no room")});
  CHECK(scene.news() == Actions{AbortRanks{}});
  for (const int rank : {0, 1}) scene.happens(RankEnded{rank, "exit status 0"});
  CHECK(scene.run.verdict() == Verdict{Untold{"no room"}});
}

TEST_CASE("a probe that is not wanted any more is aborted, once") {
  Scene scene(1);
  scene.happens(Unwanted{"the job needs the GPUs"});
  scene.happens(Unwanted{"again"});
  CHECK(scene.news() == Actions{AbortRanks{}});
  scene.happens(RankEnded{0, "exit status 0"});
  CHECK(scene.run.verdict() == Verdict{Untold{"the job needs the GPUs"}});
}

TEST_CASE("a communicator that cannot be taken down does not take the verdict back") {
  Scene scene(1);
  scene.rank_done(0, Phase::bandwidth);
  scene.news();
  scene.deadline_comes();
  CHECK(scene.news() == Actions{KillRanks{}});
  scene.happens(RankEnded{0, "killed by SIGKILL"});
  CHECK(scene.news() == Actions{Done{}});
  CHECK(std::holds_alternative<Works>(scene.run.verdict()));
}

TEST_CASE("lines out of turn are not believed") {
  Scene scene(1);
  scene.happens(RankReported{0, done(Phase::bandwidth)});
  scene.happens(RankReported{0, done(Phase::driver)});
  scene.happens(RankReported{0, done(Phase::driver)});
  CHECK(scene.run.deadline() == kStart + Limits()[Phase::context]);
}

// ---- each phase ---------------------------------------------------------------------------------

namespace {

/// A scene of three ranks that are all through the phases before this one.
Scene before_phase(Phase phase) {
  Scene scene(3);
  for (const int rank : {0, 1, 2})
    if (phase != Phase::driver)
      scene.rank_done(rank, static_cast<Phase>(static_cast<int>(phase) - 1));
  (void)scene.news();
  return scene;
}

std::vector<Phase> all_phases() {
  std::vector<Phase> phases;
  for (int i = 0; i < kProbePhaseCount; ++i) phases.push_back(static_cast<Phase>(i));
  return phases;
}

void all_end(Scene& scene, const std::string& how = "exit status 0") {
  for (const int rank : {0, 1, 2}) scene.happens(RankEnded{rank, how});
}

}  // namespace

TEST_CASE("a rank that fails in any phase is told with that phase") {
  for (const Phase phase : all_phases()) {
    Scene scene = before_phase(phase);
    scene.happens(RankReported{1, told(phase, PhaseResult::failed, "it broke")});
    scene.deadline_comes();
    CHECK(scene.news() == Actions{AbortRanks{}});
    all_end(scene);
    CHECK(scene.run.verdict() == Verdict{Failed{{{1, phase, "it broke"}}}});
  }
}

TEST_CASE("a rank that dies in any phase is told with that phase and its end") {
  for (const Phase phase : all_phases()) {
    Scene scene = before_phase(phase);
    scene.happens(RankEnded{2, "killed by SIGBUS"});
    scene.deadline_comes();
    all_end(scene);
    CHECK(scene.run.verdict() == Verdict{Failed{{{2, phase, "killed by SIGBUS"}}}});
  }
}

TEST_CASE("one rank that never answers hangs any phase, and is named alone") {
  for (const Phase phase : all_phases()) {
    Scene scene = before_phase(phase);
    for (const int rank : {0, 2}) scene.happens(RankReported{rank, done(phase)});
    (void)scene.news();
    scene.deadline_comes();
    CHECK(scene.news() == Actions{AbortRanks{}});
    all_end(scene, "killed by SIGKILL");
    CHECK(scene.run.verdict() == Verdict{Hung{phase, {1}}});
  }
}

TEST_CASE("a rank that declines in any phase tells nothing against the profile") {
  for (const Phase phase : all_phases()) {
    Scene scene = before_phase(phase);
    scene.happens(RankReported{0, told(phase, PhaseResult::declined, "no room")});
    CHECK(scene.news() == Actions{AbortRanks{}});
    all_end(scene);
    CHECK(scene.run.verdict() == Verdict{Untold{"no room"}});
  }
}

// ---- messages that are hostile, late or twice ---------------------------------------------------

TEST_CASE("a rank 0 that makes no unique id has failed, and the others are not said to hang") {
  const std::string longest(256, 'a');
  for (const std::string& id : {std::string(), std::string("C0FFEE"), std::string("c0 ffee"),
                                std::string("c0ffee\nabort"), longest + "a"}) {
    Scene scene(2);
    scene.rank_done(0, Phase::library);
    scene.rank_done(1, Phase::library);
    PhaseReport report = done(Phase::unique_id);
    report.id = id;
    scene.happens(RankReported{0, report});
    CHECK(scene.news().empty());  // nothing of it is handed out
    scene.deadline_comes();
    CHECK(scene.run.verdict() == Verdict{Failed{{{0, Phase::unique_id, "it made no unique id"}}}});
  }
  Scene scene(1);
  scene.rank_done(0, Phase::library);
  PhaseReport report = done(Phase::unique_id);
  report.id = longest;
  scene.happens(RankReported{0, report});
  CHECK(scene.news() == Actions{HandOutId{longest}});
}

TEST_CASE("the id of a rank that is not rank 0 is not believed") {
  Scene scene(2);
  scene.rank_done(1, Phase::unique_id);
  CHECK(scene.news().empty());
}

TEST_CASE("what a rank says after it has failed is not heard") {
  Scene scene(2);
  scene.happens(RankReported{0, told(Phase::driver, PhaseResult::failed, "first")});
  scene.happens(RankReported{0, told(Phase::driver, PhaseResult::failed, "second")});
  scene.happens(RankReported{0, done(Phase::driver)});
  scene.happens(RankEnded{0, "exit status 1"});
  CHECK(scene.run.verdict() == Verdict{Failed{{{0, Phase::driver, "first"}}}});
}

TEST_CASE("a failure within the time after the first is told too, one after it is not") {
  Scene scene(3);
  scene.happens(RankReported{0, told(Phase::driver, PhaseResult::failed, "first")});
  scene.happens(RankEnded{1, "killed by SIGSEGV"});
  scene.deadline_comes();
  scene.happens(RankReported{2, told(Phase::driver, PhaseResult::failed, "late")});
  scene.happens(RankEnded{2, "exit status 1"});
  CHECK(scene.run.verdict() ==
        Verdict{Failed{{{0, Phase::driver, "first"}, {1, Phase::driver, "killed by SIGSEGV"}}}});
}

TEST_CASE("a rank that was aborted and then says that it is done changes no verdict") {
  Scene scene(2);
  scene.deadline_comes();
  (void)scene.news();
  scene.rank_done(0, Phase::bandwidth);
  scene.rank_done(1, Phase::bandwidth);
  CHECK(scene.news().empty());
  CHECK(scene.run.verdict() == Verdict{Hung{Phase::driver, {0, 1}}});
}

TEST_CASE("a rank that dies once all have measured takes nothing back") {
  Scene scene(2);
  scene.rank_done(0, Phase::bandwidth);
  scene.rank_done(1, Phase::bandwidth);
  scene.happens(RankEnded{0, "killed by SIGSEGV"});
  scene.happens(RankEnded{1, "exit status 0"});
  CHECK(std::holds_alternative<Works>(scene.run.verdict()));
}

TEST_CASE("a probe that nobody wants any more keeps what it has shown") {
  Scene failed(1);
  failed.happens(RankReported{0, told(Phase::driver, PhaseResult::failed, "no")});
  failed.happens(Unwanted{"the job needs the GPUs"});
  CHECK(failed.run.verdict() == Verdict{Failed{{{0, Phase::driver, "no"}}}});

  Scene measured(1);
  measured.rank_done(0, Phase::bandwidth);
  measured.happens(Unwanted{"the job needs the GPUs"});
  CHECK(std::holds_alternative<Works>(measured.run.verdict()));
}

TEST_CASE("before its end a probe that works has told nothing yet") {
  Scene scene(2);
  scene.rank_done(0, Phase::bandwidth);
  scene.rank_done(1, Phase::checked);
  CHECK(scene.run.verdict() == Verdict{Untold{"the probe has not ended"}});
}

TEST_CASE("a bandwidth that a rank does not tell is that of the slowest: none") {
  Scene scene(2);
  for (const int rank : {0, 1}) scene.rank_done(rank, Phase::checked);
  PhaseReport silent = done(Phase::bandwidth);
  silent.gb_per_s.reset();
  scene.happens(RankReported{0, silent});
  scene.happens(RankReported{1, done(Phase::bandwidth)});
  CHECK(std::get<Works>(scene.run.verdict()).bus_gb_per_s == 0.0);
}

TEST_CASE("when the probe is over time changes nothing") {
  Scene scene(1);
  scene.rank_done(0, Phase::bandwidth);
  scene.happens(RankEnded{0, "exit status 0"});
  (void)scene.news();
  scene.now += 1h;
  scene.happens(TimePassed{});
  scene.happens(Unwanted{"late"});
  scene.happens(OthersOver{});
  CHECK(scene.news().empty());
}
