#include "rank_story.h"

using namespace safelaunch;

using namespace safelaunch::ranks;
using namespace std::chrono_literals;
using Told = RankStory;

TEST_CASE("the end of a rank that we did not spawn is watched, once", "[rank_machine]") {
  Told job;
  job.starts(0);
  job.waits(0, Stage::rendezvous);
  REQUIRE(job.all<WatchExit>().size() == 1);
  CHECK(job.all<WatchExit>().front().process == process_of(0));
  job.on(RankSpawned{Rank{1}, process_of(1)});
  job.starts(1);
  CHECK(job.all<WatchExit>().size() == 1);
}

TEST_CASE("a rank that fails is a verdict, and its end is kept", "[rank_machine]") {
  Told job;
  job.hang();
  job.ends(1, Exited{3});
  REQUIRE(job.all<TellVerdict>().size() == 1);
  CHECK(job.all<TellVerdict>().front().verdict.kind == FailureKind::rank_died);
  REQUIRE(job.seen().exits.size() == 1);
  CHECK(job.seen().exits.front().status == ExitStatus(Exited{3}));
}

TEST_CASE("a launcher that restarts its ranks begins a life, told once", "[rank_machine]") {
  const auto restarts = GENERATE(watch::DeadRank::is_restarted, watch::DeadRank::hangs_the_others);
  Told job({.stages = {.world_size = 2, .dead_rank = restarts}});
  for (const int rank : {0, 1}) job.starts(rank);
  job.says(1, RankRaised{Rank{1}, process_of(1), "ValueError", "", "", {}});
  job.ends(1, Exited{1});
  job.ends(0, Signaled{15});
  for (const int rank : {0, 1}) {
    const ProcessId anew{900 + rank, 9};
    job.says(anew, rank, RankStarted{Rank{rank}, anew, 2, Source::hook});
  }
  const std::size_t told = restarts == watch::DeadRank::is_restarted ? 1 : 0;
  CHECK(job.all<TellNewLife>().size() == told);
  CHECK(job.seen().raised_before.size() == told);
  CHECK(job.seen().exits.empty());
}

TEST_CASE("a rank that is started again has not ended", "[rank_machine]") {
  Told job({.stages = {.world_size = 2, .dead_rank = watch::DeadRank::is_restarted}});
  job.starts(0);
  job.says(0, RankRaised{Rank{0}, process_of(0), "ValueError", "", "", {}});
  job.ends(0, Exited{1});
  CHECK(job.seen().exits.size() == 1);
  job.says({900, 9}, 0, RankStarted{Rank{0}, {900, 9}, 2, Source::hook});
  CHECK(job.seen().exits.empty());
  CHECK(job.seen().raised.empty());
}

TEST_CASE("a rank that comes to another world is not held to the failure of its former process",
          "[rank_machine]") {
  Told job;
  for (const int rank : {0, 1}) job.starts(rank);
  job.says(1, RankRaised{Rank{1}, process_of(1), "ValueError", "", "", {}});
  job.ends(1, Exited{1});
  const ProcessId anew{901, 9};  // made by mp.spawn, it says who it is when it comes to init
  job.says(anew, 1,
           StageEntered{.rank = Rank{1},
                        .process = anew,
                        .stage = Stage::group,
                        .detail = "gloo",
                        .world_size = 2});
  CHECK(job.seen().exits.empty());
  CHECK(job.seen().raised.empty());
}

TEST_CASE("an exception of a rank's child, which has inherited RANK, is not the rank's own",
          "[rank_machine]") {
  Told job;
  job.hang();
  job.says({900, 9}, 0, RankRaised{Rank{0}, {900, 9}, "ImportError", "no flash", "Trace", {}});
  CHECK(job.seen().raised.empty());
  job.says(0, RankRaised{Rank{0}, process_of(0), "ValueError", "its own", "Trace", {}});
  REQUIRE(job.seen().raised.size() == 1);
  CHECK(job.seen().raised.front().message == "its own");
}

TEST_CASE("a rank that gives up a wait tells for whom it was, once", "[rank_machine]") {
  const auto raises = [](Told& job, int rank, const std::string& message, bool communication) {
    job.says(rank, RankRaised{Rank{rank}, process_of(rank), "RuntimeError", message, "Trace",
                              communication});
  };
  Told job;
  job.hang();
  job.pass(5s);
  raises(job, 0, "Connection closed by peer", true);
  raises(job, 0, "the server timed out", false);
  CHECK(job.all<WaitTimedOut>().empty());

  Told late;
  late.hang();
  late.pass(5s);
  raises(late, 0, "wait timeout after 5000ms, keys: /default_pg/0//cpu//0/1", true);
  raises(late, 0, "Timed out waiting 5000ms for recv operation to complete", true);
  REQUIRE(late.all<WaitTimedOut>().size() == 1);
  const auto wait = late.all<WaitTimedOut>().front().wait;
  REQUIRE(wait);
  CHECK(wait->kind == FailureKind::hung);
  CHECK(wait->stage == Stage::group);
  CHECK(wait->waiting == std::vector{Rank{0}});
  CHECK(ranks_of(wait->missing) == std::vector{Rank{1}});
  CHECK(wait->waited >= 4s);
}

TEST_CASE("who gives up tells of its own wait, whoever else waits", "[rank_machine]") {
  Told job({.stages = {.world_size = 3}, .hook = true});
  for (const int rank : {0, 1, 2}) job.starts(rank);
  for (const int rank : {0, 1, 2}) job.reaches(rank, Stage::rendezvous);
  job.waits(0, Stage::group);
  job.pass(5s);
  const auto gives_up = [&](int rank) {
    job.says(rank, RankRaised{Rank{rank}, process_of(rank), "RuntimeError", "wait timeout", "Trace",
                              true});
  };
  gives_up(2);  // a store of its own
  CHECK(job.all<WaitTimedOut>().empty());
  gives_up(0);
  REQUIRE(job.all<WaitTimedOut>().size() == 1);
  CHECK(job.all<WaitTimedOut>().front().wait->waiting == std::vector{Rank{0}});
}

TEST_CASE("whose ranks wait for nobody, or for ranks of other nodes, tells of no wait",
          "[rank_machine]") {
  Told nobody_waits;
  for (const int rank : {0, 1}) nobody_waits.starts(rank);
  nobody_waits.on(WatchdogSpoke{});
  CHECK(nobody_waits.all<WaitTimedOut>().empty());

  Told member({.stages = {.world_size = 2, .judged_elsewhere = true}});
  member.hang();
  member.on(WatchdogSpoke{});
  CHECK(member.all<WaitTimedOut>().empty());
}

TEST_CASE("an end counts for the rank as which its script has met the others", "[rank_machine]") {
  Told job;
  job.on(RankSpawned{Rank{0}, process_of(0)});
  job.says(process_of(0), 1, StageEntered{Rank{1}, process_of(0), Stage::rendezvous, "", 2});
  job.ends(0, Exited{2});
  REQUIRE(job.seen().exits.size() == 1);
  CHECK(job.seen().exits.front().rank == Rank{1});
}

TEST_CASE("once frozen nothing is judged, and ends are late ones", "[rank_machine]") {
  Told job;
  job.hang();
  job.on(WatchFreezes{});
  job.forget();
  job.waits(1, Stage::group);
  job.on(NcclTold{StageReached{Rank{1}, process_of(1), Stage::group, Source::nccl_log}});
  job.on(nccl::Contradiction{});
  job.on(NcclSpoke{});
  job.on(DriverSilent{{Rank{0}}, "silent"});
  job.on(kStandstill);
  CHECK_FALSE(job.machine().deadline());
  job.ends(0, Signaled{15});
  job.ends(0, Signaled{15});
  CHECK_FALSE(job.did<TellRanksGone>());
  job.ends(1, Signaled{15});
  CHECK(job.did<TellRanksGone>());
  CHECK(job.seen().exits.empty());
  CHECK(job.seen().late_exits.size() == 2);
  CHECK_FALSE(job.did<TellVerdict>());
  CHECK_FALSE(job.did<NcclSpoke>());
}

TEST_CASE("a wrapper's end does not tell that its rank has gone", "[rank_machine]") {
  Told job;
  job.starts(0);
  job.seen_by_a_look.processes = {rank_in_proc(1)};  // no hook has spoken in it
  job.pass(1s);
  job.on(WatchFreezes{});
  job.ends(0);
  job.ends(1);
  CHECK_FALSE(job.did<TellRanksGone>());
}

TEST_CASE("a rank has finished that says so, and not after an exception", "[rank_machine]") {
  Told job;
  job.starts(0);
  job.starts(1);
  job.body(0, "exit", {});
  job.body(1, "exception", watch::HookException{});
  job.body(1, "exit", {});
  CHECK(job.seen().finished == std::set<Rank>{Rank{0}});
  job.waits(0, Stage::rendezvous);  // a further program as the same rank
  CHECK(job.seen().finished.empty());
}

TEST_CASE("the exception of a process that came as no rank is kept, a few of them",
          "[rank_machine]") {
  Told job;
  job.starts(0);
  const ProcessId no_rank{900, 9};
  watch::HookMessage nameless;
  nameless.name = "exception";
  nameless.body = watch::HookException{RankRaised{Rank{}, {}, "ValueError", "no data", ""}};
  for (int i = 0; i < 9; ++i) job.on(HookSpoke{no_rank, nameless});
  CHECK(job.seen().raised_nameless.size() == 4);
  CHECK(job.seen().raised_nameless.front().type == "ValueError");
  job.body(0, "exception", watch::HookException{});
  CHECK(job.seen().raised_nameless.size() == 4);
}

TEST_CASE("the exception of a rank that was counted among the spawned is that rank's",
          "[rank_machine]") {
  Told job;
  for (const int rank : {0, 1}) job.starts(rank);
  watch::HookMessage unnamed;
  unnamed.name = "exception";
  unnamed.body = watch::HookException{RankRaised{Rank{}, {}, "ValueError", "no data", "Trace"}};
  job.on(HookSpoke{process_of(1), unnamed});
  REQUIRE(job.seen().raised.size() == 1);
  CHECK(job.seen().raised.front().rank == Rank{1});
  CHECK(job.seen().raised_nameless.empty());
}

TEST_CASE("that a server cannot listen is told while it starts", "[rank_machine]") {
  const bool starts = GENERATE(true, false);
  RankStory job({.stages = {.world_size = 1, .serves = true}, .hook = true});
  watch::HookMessage server;
  if (!starts) {
    server.body = watch::HookServes{};
    job.on(HookSpoke{{900, 9}, server});
  }
  server.body = watch::HookServeFailed{3};
  job.on(HookSpoke{{900, 9}, server});
  REQUIRE(job.all<ServeFailed>().size() == (starts ? 1 : 0));
  if (starts) CHECK(job.all<ServeFailed>().front().status == 3);
}

TEST_CASE("an exception after another rank was killed is told from one before", "[rank_machine]") {
  const auto way =
      GENERATE(ExitStatus(Signaled{9}), ExitStatus(Signaled{15}), ExitStatus(Exited{1}));
  Told job;
  for (const int rank : {0, 1}) job.starts(rank);
  job.says(1, RankRaised{Rank{1}, process_of(1), "ValueError", "before", "Trace"});
  job.ends(1, way);
  job.says(0, RankRaised{Rank{0}, process_of(0), "ValueError", "after", "Trace"});
  REQUIRE(job.seen().raised.size() == 2);
  CHECK_FALSE(job.seen().raised.front().after_a_kill);
  CHECK(job.seen().raised.back().after_a_kill == (way == ExitStatus(Signaled{9})));
  const auto for_the_leader = picture_of(job.machine().stages().ranks(), {});
  CHECK(for_the_leader.front().raised->after_a_kill == (way == ExitStatus(Signaled{9})));
}

TEST_CASE("a rank that ends in order while the job is stopped has finished too", "[rank_machine]") {
  Told job;
  job.starts(0);
  job.on(WatchFreezes{});
  job.body(0, "exit", {});
  CHECK(job.seen().finished.contains(Rank{0}));
}
