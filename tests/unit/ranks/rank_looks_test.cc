// The looks of the watch for ranks: when they come, and what follows from the facts that they show.
#include "rank_story.h"

using namespace safelaunch;
using namespace safelaunch::ranks;
using namespace std::chrono_literals;

namespace {

/// The next time at which the watch wakes up by itself, from now on; nullopt: it sleeps.
std::optional<TimePoint::duration> wakes_in(const RankStory& job) {
  const auto deadline = job.machine().deadline();
  return deadline ? std::optional(*deadline - job.now) : std::nullopt;
}

/// How each rank stands, as a person is told who asks.
std::string told_of(RankStory& job) {
  job.forget();
  job.on(StacksWanted{});
  const std::vector<ShowStacks> shown = job.all<ShowStacks>();
  std::string text;
  for (const stacks::KnownRank& one : shown.front().known.ranks)
    text += std::to_string(one.rank.value) + " " + one.standing + "\n";
  return text;
}

}  // namespace

TEST_CASE("a job is looked at after a second, and then every second while it is young",
          "[rank_looks]") {
  RankStory job;
  CHECK(wakes_in(job) == 1s);
  job.pass(1s);
  CHECK(job.all<TakeLook>().size() == 1);
  CHECK(wakes_in(job) == 1s);
}

TEST_CASE("a job that has shown no rank for an hour is looked at in the next minutes",
          "[rank_looks]") {
  RankStory job;
  job.pass(1h);
  const auto next = wakes_in(job);
  REQUIRE(next);
  CHECK(*next > 0s);
  CHECK(*next < 8min);
}

TEST_CASE("a job that never shows a rank costs ever fewer looks", "[rank_looks]") {
  RankStory job;
  job.pass(10s);
  const std::size_t soon = job.all<TakeLook>().size();
  CHECK(soon >= 8);
  job.pass(24h);
  CHECK(job.all<TakeLook>().size() < 120);
}

TEST_CASE("where every rank has a hook and nobody waits, the watch sleeps", "[rank_looks]") {
  RankStory job;
  for (const int rank : {0, 1}) job.starts(rank);
  job.pass(1min);
  CHECK_FALSE(wakes_in(job));
  CHECK_FALSE(job.did<TakeLook>());
}

TEST_CASE("a hook that closes its connection wakes the watch, and its words let it sleep again",
          "[rank_looks]") {
  RankStory job;
  for (const int rank : {0, 1}) job.starts(rank);
  job.pass(2s);
  job.on(HookClosed{process_of(1)});
  CHECK(wakes_in(job) == 1s);
  job.starts(1);
  job.pass(1s);
  CHECK_FALSE(job.did<TakeLook>());
  CHECK_FALSE(wakes_in(job));
}

TEST_CASE("only a process whose hook is silent is asked after", "[rank_looks]") {
  RankStory job;
  for (const int rank : {0, 1}) job.starts(rank);
  job.on(HookClosed{process_of(1)});
  job.on(HookClosed{{999, 9}});  // which was no rank's
  job.pass(1s);
  REQUIRE(job.all<TakeLook>().size() == 1);
  CHECK(job.all<TakeLook>().front().silent == std::vector<ProcessId>{process_of(1)});
}

TEST_CASE("a rank that has closed its hook and lives is looked at again", "[rank_looks]") {
  RankStory job;
  for (const int rank : {0, 1}) job.starts(rank);
  job.pass(1min);
  job.on(HookClosed{process_of(1)});
  const bool lives = GENERATE(true, false);
  if (lives) job.seen_by_a_look.running = {process_of(1)};
  job.pass(1s);
  REQUIRE(job.all<TakeLook>().size() == 1);
  CHECK(job.all<TakeLook>().front().silent == std::vector{process_of(1)});
  CHECK(job.machine().hooked().contains(process_of(1)) == !lives);
  CHECK(job.machine().stages().all_heard() == !lives);
}

TEST_CASE("a rank that has closed its hook by ending is not looked for", "[rank_looks]") {
  RankStory job;
  for (const int rank : {0, 1}) job.starts(rank);
  job.on(HookClosed{process_of(1)});
  job.ends(1);
  job.pass(1s);
  for (const TakeLook& look : job.all<TakeLook>()) CHECK(look.silent.empty());
}

TEST_CASE("once training has begun nothing is looked at, whatever closes", "[rank_looks]") {
  RankStory job;
  for (const int rank : {0, 1}) job.starts(rank);
  for (const int rank : {0, 1}) job.reaches(rank, Stage::collective);
  job.forget();
  job.on(HookClosed{process_of(1)});
  CHECK_FALSE(wakes_in(job));
  job.pass(1h);
  CHECK(job.done().empty());
}

TEST_CASE("a look that ends after the judgement says nothing any more", "[rank_looks]") {
  using Late = std::pair<std::string, std::function<void(RankStory&)>>;
  const std::vector<Late> judgements{{"a verdict", [](RankStory& job) { job.ends(1, Exited{3}); }},
                                     {"a stop", [](RankStory& job) { job.on(WatchFreezes{}); }},
                                     {"training", [](RankStory& job) {
                                        for (const int rank : {0, 1})
                                          job.reaches(rank, Stage::collective);
                                      }}};
  for (const auto& [what, judged] : judgements) {
    RankStory job;
    for (const int rank : {0, 1}) job.starts(rank);
    judged(job);
    job.forget();
    job.on(LookTaken{{process_of(0)}, {rank_in_proc(1)}});
    job.on(RanksSampled{{{Rank{0}, process_of(0), Activity::idling, ""}}});
    job.on(OthersSampled{});
    INFO(what);
    CHECK(job.done().empty());
  }
}

TEST_CASE("a rank that /proc shows is watched until its end, as one of a hook", "[rank_looks]") {
  RankStory job({.stages = {.world_size = 2}, .hook = false});
  job.seen_by_a_look = {{}, {rank_in_proc(0), rank_in_proc(1)}};
  job.pass(3s);
  std::set<int> watched;
  for (const WatchExit& one : job.all<WatchExit>()) watched.insert(one.rank.value);
  CHECK(watched == std::set<int>{0, 1});
  CHECK(job.all<WatchExit>().size() == 2);
  CHECK(job.machine().stages().ranks().size() == 2);
  job.ends(1, Exited{3});
  CHECK(job.did<TellVerdict>());
}

TEST_CASE("while somebody waits the processes that may be the missing rank are looked at",
          "[rank_looks]") {
  RankStory job;
  job.starts(0);
  job.waits(0, Stage::group, "nccl");  // and rank 1 was never seen
  job.pass(5s);
  REQUIRE(job.did<SampleOthers>());
  const SampleOthers asked = job.all<SampleOthers>().back();
  CHECK(asked.others);
  CHECK(asked.ranks == std::set<ProcessId>{process_of(0)});
}

TEST_CASE("an agent whose leader judges shows no status of its own", "[rank_looks]") {
  RankStory job({.stages = {.world_size = 2, .judged_elsewhere = true}, .hook = true});
  job.hang();
  job.pass(5min);
  CHECK_FALSE(job.did<ShowStatus>());
  CHECK_FALSE(job.did<ShowWaiting>());
}

TEST_CASE("the status of a wait goes when the wait does", "[rank_looks]") {
  RankStory job;
  job.hang();
  job.pass(5s);
  REQUIRE(job.did<ShowStatus>());
  CHECK_FALSE(job.all<ShowStatus>().back().line.empty());
  job.waits(1, Stage::group, "nccl");
  for (const int rank : {0, 1}) job.reaches(rank, Stage::group);
  job.pass(5s);
  CHECK(job.all<ShowStatus>().back().line.empty());
}

TEST_CASE("a person who asks is told of each rank how far it is", "[rank_looks]") {
  RankStory job(
      {.stages = {.world_size = 4, .dead_rank = watch::DeadRank::hangs_the_others}, .hook = true});
  for (const int rank : {0, 1, 2}) job.starts(rank);
  job.waits(0, Stage::rendezvous, "10.0.0.1:29500");
  job.reaches(1, Stage::rendezvous);
  job.ends(2);
  CHECK(told_of(job) == "0 waits in rendezvous\n1 has reached rendezvous\n2 has ended\n");
}

TEST_CASE("a rank that nobody has seen is not told of, and one that has only begun has spawned",
          "[rank_looks]") {
  RankStory job;
  job.starts(0);
  CHECK(told_of(job) == "0 has reached spawned\n");
}

TEST_CASE(
    "the line of processes is wanted for whoever begins anew, or is not known to meet anybody",
    "[rank_looks]") {
  RankStory job;
  job.starts(0);
  job.waits(0, Stage::rendezvous);
  const auto wanted = [&](ProcessId process, const Event& event) {
    return job.machine().wants_line(process, message_of(0, event));
  };
  const ProcessId stranger{900, 9};
  RankStarted anew{Rank{0}, stranger, 2, Source::hook};
  CHECK_FALSE(wanted(stranger, anew));
  anew.anew = true;
  CHECK(wanted(stranger, anew));
  CHECK(wanted(stranger, StageEntered{Rank{0}, stranger, Stage::group, "", 2}));
  CHECK_FALSE(wanted(process_of(0), StageEntered{Rank{0}, process_of(0), Stage::group, "", 2}));
  CHECK(wanted(stranger, StageEntered{Rank{1}, stranger, Stage::group, "", 2}));
  CHECK_FALSE(wanted(stranger, StageEntered{Rank{0}, stranger, Stage::collective, "", 2}));
  job.on(WatchFreezes{});
  CHECK_FALSE(wanted(stranger, anew));
}

TEST_CASE("a leader that watches wakes its members as often as it looks itself", "[rank_looks]") {
  RankStory job({.stages = {.world_size = 4, .judged_elsewhere = true}, .hook = true});
  for (const int rank : {0, 1, 2, 3}) job.starts(rank);
  job.pass(2s);
  CHECK_FALSE(wakes_in(job));
  job.on(LeaderWatches{true});
  CHECK(job.did<SampleRanks>());
  CHECK(wakes_in(job) == watch::StagesConfig{}.look_every);
  job.on(LeaderWatches{false});
  CHECK_FALSE(wakes_in(job));
}

TEST_CASE("a child's question that nobody answers is told once, a rank's own is not",
          "[rank_looks]") {
  const bool of_a_child = GENERATE(true, false);
  RankStory job;
  job.hang();
  job.does[1] = Activity::attended;
  job.doings[1] = "waits for somebody to type at the terminal";
  if (of_a_child) job.doings[1] += " in a child (sh, pid 15)";
  job.pass(50s);
  CHECK(job.notices().empty());
  job.pass(10min);
  REQUIRE(job.notices().size() == (of_a_child ? 1 : 0));
  if (of_a_child)
    CHECK(job.notices().front() ==
          "rank 1 waits for somebody to type at the terminal in a child (sh, pid 15); a progress "
          "bar may hide the question");
}
