#include "rank_story.h"

using namespace safelaunch;

using namespace safelaunch::ranks;
using namespace std::chrono_literals;
using Told = RankStory;

TEST_CASE("a rank that waits for one that sleeps is a verdict when its time is over",
          "[rank_machine]") {
  Told job;
  job.hang();
  CHECK(job.did<TellMeeting>());
  job.pass(2min);
  CHECK_FALSE(job.did<TellVerdict>());
  job.pass(20min);
  REQUIRE(job.all<TellVerdict>().size() == 1);
  CHECK(job.all<TellVerdict>().front().verdict.missing.front().rank == Rank{1});
  CHECK_FALSE(job.machine().deadline());
}

TEST_CASE("ranks that have their first collective behind them train, and nobody looks any more",
          "[rank_machine]") {
  Told job;
  for (const int rank : {0, 1}) job.starts(rank);
  for (const int rank : {0, 1}) job.reaches(rank, Stage::collective);
  CHECK(job.did<BeginTraining>());
  CHECK_FALSE(job.machine().deadline());
  CHECK_FALSE(job.machine().judging());
}

TEST_CASE(
    "the status line comes after two seconds, a line without a terminal with half the deadline",
    "[rank_machine]") {
  Told job;
  job.hang();
  job.pass(1s);
  CHECK_FALSE(job.did<ShowStatus>());
  job.pass(3s);
  CHECK(job.all<ShowStatus>().back().line.find("waiting for rank 1") != std::string::npos);
  job.pass(80s);
  CHECK_FALSE(job.did<ShowWaiting>());
  job.pass(10s);
  CHECK(job.all<ShowWaiting>().size() == 1);
  job.pass(50s);
  CHECK(job.all<ShowWaiting>().size() == 1);
  job.pass(20s);
  CHECK(job.all<ShowWaiting>().size() == 2);
}

TEST_CASE("each deadline has a half of its own: one that begins late is told of late",
          "[rank_machine]") {
  Told job;
  job.hang();
  job.does[1] = Activity::working;
  job.pass(10min);
  job.does[1] = Activity::idling;
  job.pass(80s);
  CHECK_FALSE(job.did<ShowWaiting>());
  job.pass(20s);
  CHECK(job.all<ShowWaiting>().size() == 1);
}

TEST_CASE("a rank that a person has in hand is told of after half of the init timeout",
          "[rank_machine]") {
  Told job;
  job.hang();
  job.does[1] = Activity::attended;
  job.pass(80s);
  CHECK_FALSE(job.did<ShowWaiting>());
  job.pass(20s);
  CHECK(job.all<ShowWaiting>().size() == 1);
}

TEST_CASE("where no deadline runs nothing is told of a wait", "[rank_machine]") {
  watch::StageLimits none;
  none.init = 0s;
  Told job({.stages = {.world_size = 2, .limits = none}, .hook = true});
  job.hang();
  job.pass(20min);
  CHECK(job.did<ShowStatus>());
  CHECK_FALSE(job.did<ShowWaiting>());
}

TEST_CASE("a rank that others wait for is asked now and then whether its hook hears",
          "[rank_machine]") {
  Told job;
  job.hang();
  const auto asked = [&] {
    return std::ranges::count(job.all<AskWhetherItHears>(), process_of(1),
                              &AskWhetherItHears::process);
  };
  job.pass(1s);
  CHECK(asked() == 1);
  job.pass(10s);
  CHECK(asked() > 3);
  CHECK(asked() <= 6);  // not more often than every two seconds
}

TEST_CASE("a rank has begun once it comes to torch, JAX or NCCL", "[rank_machine]") {
  Told job;
  job.starts(0);
  CHECK_FALSE(job.seen().began);
  job.reaches(0, Stage::imported);
  CHECK(job.seen().began);
}

TEST_CASE("a launcher that waits for other nodes has the init-timeout to start a rank",
          "[rank_machine]") {
  watch::StagesConfig stages{.world_size = 4};
  stages.limits.init = 15s;
  stages.awaited_nodes = 2;
  stages.nodes_have_met = GENERATE(false, true);
  RankStory job({.stages = stages, .hook = true});
  job.pass(14s);
  CHECK(job.all<TellVerdict>().empty());
  SECTION("no rank comes") {
    job.pass(2s);
    REQUIRE(job.all<TellVerdict>().size() == 1);
    const Failure verdict = job.all<TellVerdict>().front().verdict;
    CHECK(verdict.kind == FailureKind::not_started);
    CHECK(verdict.proof.find("it waits until 2 nodes have come") != std::string::npos);
    CHECK((verdict.certainty == Certainty::guess) == stages.nodes_have_met);
  }
  SECTION("a rank comes") {
    job.starts(0);
    job.pass(60s);
    CHECK(job.all<TellVerdict>().empty());
  }
}

TEST_CASE("a launcher of one node has all the time to start its ranks", "[rank_machine]") {
  watch::StagesConfig stages{.world_size = 4};
  stages.limits.init = 15s;
  RankStory job({.stages = stages, .hook = true});
  job.pass(10min);
  CHECK(job.all<TellVerdict>().empty());
}

TEST_CASE("a rank that is through its store may meet the others at the next one",
          "[rank_machine]") {
  RankStory job;
  for (const int rank : {0, 1}) job.waits(rank, Stage::rendezvous, "node0:29500");
  for (const int rank : {0, 1}) job.reaches(rank, Stage::group);
  job.waits(0, Stage::group, "gloo");
  job.waits(0, Stage::rendezvous, "node0:29501");
  CHECK(job.all<TellVerdict>().size() == 0);
}

TEST_CASE("hook, plugin and log may tell the same stage; the record has it once",
          "[rank_machine]") {
  Told job;
  job.starts(0);
  job.reaches(0, Stage::communicator);
  job.on(NcclTold{StageReached{Rank{0}, process_of(0), Stage::communicator, Source::nccl_log}});
  CHECK(job.recorded<report::record::Stage>() == 1);
}

TEST_CASE("where the hook sees the collectives the plugin's word does not count",
          "[rank_machine]") {
  Told job;
  job.starts(0);
  watch::HookMessage plugins =
      message_of(0, StageReached{Rank{0}, process_of(0), Stage::collective, Source::plugin});
  plugins.source = Source::plugin;
  const bool in_torch = GENERATE(false, true);
  if (in_torch) job.waits(0, Stage::rendezvous);
  job.on(HookSpoke{process_of(0), plugins});
  CHECK(job.machine().stages().ranks().at(Rank{0}).reached(Stage::collective) == !in_torch);
}

TEST_CASE("the hook of a JAX rank sees no collectives, so there the plugin's word counts",
          "[rank_machine]") {
  for (const bool of_jax : {true, false}) {
    Told job;
    watch::HookMessage hooks =
        message_of(0, StageEntered{Rank{0}, process_of(0), Stage::group, "", 2, Source::hook});
    hooks.of_jax = of_jax;
    job.on(HookSpoke{process_of(0), hooks});
    watch::HookMessage plugins =
        message_of(0, StageReached{Rank{0}, process_of(0), Stage::collective, Source::plugin});
    plugins.source = Source::plugin;
    job.on(HookSpoke{process_of(0), plugins});
    CHECK(job.machine().stages().ranks().at(Rank{0}).reached(Stage::collective) == of_jax);
  }
}

namespace {

watch::HookMessage of_plugin(Event event) {
  watch::HookMessage message = message_of(0, std::move(event));
  message.source = Source::plugin;
  return message;
}

// A rank whose hook has called its first collective, and whose plugin has seen the kernel begin.
void begins_on_the_device(Told& job) {
  job.starts(0);
  job.waits(0, Stage::collective);
  job.on(HookSpoke{process_of(0), of_plugin(StageEntered{Rank{0}, process_of(0), Stage::collective,
                                                         "AllReduce", 2, Source::plugin})});
  job.reaches(0, Stage::collective);
}

bool is_through(const Told& job) {
  return job.machine().stages().ranks().at(Rank{0}).reached(Stage::collective);
}

}  // namespace

TEST_CASE("a collective that the hook calls finished is not over while its kernel runs",
          "[rank_machine]") {
  Told job;
  begins_on_the_device(job);
  CHECK_FALSE(is_through(job));
  CHECK(job.recorded<report::record::Stage>() == 0);
  job.on(HookSpoke{process_of(0), of_plugin(StageReached{Rank{0}, process_of(0), Stage::collective,
                                                         Source::plugin})});
  CHECK(is_through(job));
  CHECK(job.recorded<report::record::Stage>() == 1);
}

TEST_CASE("a plugin that falls silent contradicts nobody any more", "[rank_machine]") {
  Told job;
  begins_on_the_device(job);
  job.on(HookClosed{process_of(0)});
  CHECK(is_through(job));
}

TEST_CASE("what a rank has started may meet whom it likes as the same rank", "[rank_machine]") {
  Told job;
  job.starts(0);
  job.waits(0, Stage::rendezvous, "node0:29500");
  const ProcessId child{900, 9};
  const watch::HookMessage message =
      message_of(0, StageEntered{Rank{0}, child, Stage::rendezvous, "node0:29500", 2});
  CHECK(job.machine().wants_line(child, message));
  CHECK_FALSE(job.machine().wants_line(process_of(0), message));
  const bool is_child = GENERATE(true, false);
  std::vector<watch::ProcessOfRank> line{{child, {}}};
  if (is_child) line.push_back({process_of(0), {}});
  job.on(HookSpoke{child, message, line});
  CHECK(job.did<TellVerdict>() == !is_child);  // two strangers that wait as one rank contradict
}

TEST_CASE("the shell that is the rank is known behind the helper that speaks first",
          "[rank_machine]") {
  Told job;
  const watch::RankIdentity identity{Rank{0}, 2, 0};
  const ProcessId shell{50, 7};
  RankStarted started{Rank{0}, process_of(0), 2, Source::hook};
  started.anew = true;
  const watch::HookMessage message = message_of(0, started);
  CHECK(job.machine().wants_line(process_of(0), message));
  job.on(HookSpoke{process_of(0), message, {{process_of(0), identity}, {shell, identity}}});
  const auto watched = job.all<WatchExit>();
  REQUIRE(watched.size() == 2);
  CHECK(watched[0].process == shell);
  CHECK(watched[1].process == process_of(0));
  job.ends(0);  // the helper alone
  CHECK(job.seen().exits.empty());
  CHECK(job.machine().stages().rank_of(shell) == Rank{0});
}

TEST_CASE("of a process the parent counts that it tells with its own pid", "[rank_machine]") {
  Told job;
  const auto hello = [&](int rank, int pid, int parent) {
    watch::HookHello said;
    said.pid = pid;
    said.parent = parent;
    job.body(rank, "hello", said);
  };
  hello(0, process_of(0).pid, 41);
  hello(1, 5, 1);  // of another namespace
  CHECK(job.machine().parent_of(process_of(0)) == 41);
  CHECK(job.machine().parent_of(process_of(1)) == 0);
}

TEST_CASE("a flood of words is told once, and recorded as often as the record takes it",
          "[rank_machine]") {
  Told job;
  job.starts(1);
  job.on(HookFlooded{process_of(1)});
  job.on(HookFlooded{{900, 9}});
  REQUIRE(job.notices().size() == 1);
  CHECK(job.notices().front().starts_with("rank 1 (pid 101) reports more than"));
  CHECK(job.all<RecordSome>().size() >= 2);
}

TEST_CASE("ranks that contradict each other in NCCL's log are a verdict", "[rank_machine]") {
  Told job;
  for (const int rank : {0, 1}) job.starts(rank);
  for (const int rank : {0, 1}) job.waits(rank, Stage::communicator);
  const bool twice = GENERATE(true, false);
  using About = nccl::RootComplaint::About;
  job.on(nccl::Contradiction{twice ? About::rank_twice : About::sizes_differ, "in words"});
  REQUIRE(job.all<TellVerdict>().size() == 1);
  CHECK(job.all<TellVerdict>().front().verdict.kind ==
        (twice ? FailureKind::duplicate_rank : FailureKind::world_size_mismatch));
}

TEST_CASE("a driver that answers nobody is a verdict", "[rank_machine]") {
  Told job;
  job.starts(0);
  job.on(DriverSilent{{Rank{0}}, "it does not answer"});
  REQUIRE(job.all<TellVerdict>().size() == 1);
  CHECK(job.all<TellVerdict>().front().verdict.kind == FailureKind::driver_silent);
}

TEST_CASE("a standstill is a verdict only after the ranks were asked where they stand",
          "[rank_machine]") {
  Told job;
  job.starts(0);
  job.on(kStandstill);
  CHECK(job.did<AskPlaces>());
  CHECK_FALSE(job.did<TellVerdict>());
  SECTION("and nothing could be removed that they wait for") {
    job.on(PlacesTold{{}, "the lock of an extension's build: /x/lock", {}, "rm /x/lock"});
    REQUIRE(job.did<TellVerdict>());
    const std::string proof = job.all<TellVerdict>().front().verdict.proof;
    CHECK(proof.ends_with("; the lock of an extension's build: /x/lock; rm /x/lock"));
  }
  SECTION("not where a lock may go that they wait for") {
    job.on(PlacesTold{{}, "the lock of an extension's build: /x/lock", {clean::StaleFile{}}});
    CHECK_FALSE(job.did<TellVerdict>());
    CHECK(job.did<RemoveLocks>());
    CHECK(job.notices() == std::vector<std::string>{job.notices().front(),
                                                    "the lock of an extension's build: /x/lock"});
  }
  SECTION("not where it has ended meanwhile") {
    for (const int rank : {0, 1}) job.reaches(rank, Stage::collective);
    job.on(PlacesTold{});
    CHECK_FALSE(job.did<TellVerdict>());
  }
}

TEST_CASE("a standstill that is only worth a line names where each rank stands", "[rank_machine]") {
  Told job;
  AllStandStill still = kStandstill;
  still.still.then = watch::StoodStill::Then::is_told;
  job.on(still);
  RankAnswers answers;
  answers.stacks[Rank{0}].where = "train.py:4 load";
  job.on(PlacesTold{answers, "the lock of an extension's build: /x/lock", {}, "rm /x/lock"});
  REQUIRE(job.notices().size() == 3);
  CHECK(job.notices().back() == "help: rm /x/lock");
  CHECK(job.notices().front().find("rank 0 in train.py:4 load (in a lock)") != std::string::npos);
  CHECK(job.recorded<report::record::Status>() == 1);
}

TEST_CASE("an answer of a hook is passed on with its rank", "[rank_machine]") {
  Told job;
  job.body(1, "stack", watch::StackAnswer{});
  job.body(1, "counters", watch::CountersAnswer{});
  job.body(1, "collectives", watch::CollectivesAnswer{});
  const auto passed = job.all<PassAnswer>();
  REQUIRE(passed.size() == 3);
  CHECK(passed[0].rank == Rank{1});
  CHECK(std::holds_alternative<watch::StackAnswer>(passed[0].answer));
  CHECK(std::holds_alternative<watch::CollectivesAnswer>(passed[2].answer));
}

TEST_CASE("a person may ask where the ranks stand in training, too", "[rank_machine]") {
  Told job;
  for (const int rank : {0, 1}) job.starts(rank);
  for (const int rank : {0, 1}) job.reaches(rank, Stage::collective);
  job.on(StacksWanted{});
  REQUIRE(job.all<ShowStacks>().size() == 1);
  CHECK(job.all<ShowStacks>().front().ask.size() == 2);
  CHECK(job.all<ShowStacks>().front().known.ranks[0].standing == "in training");
}

TEST_CASE("a person who asks where the ranks stand changes nothing", "[rank_machine]") {
  Told asked;
  Told left_alone;
  for (Told* job : {&asked, &left_alone}) job->hang();
  asked.on(StacksWanted{});
  REQUIRE(asked.all<ShowStacks>().size() == 1);
  const ShowStacks show = asked.all<ShowStacks>().front();
  CHECK(show.ask == std::vector<AskedRank>{{Rank{0}, process_of(0)}, {Rank{1}, process_of(1)}});
  CHECK(show.known.ranks[0].standing == "waits in group");
  CHECK(show.known.ranks[1].standing == "has reached spawned");
  for (Told* job : {&asked, &left_alone}) job->pass(10min);
  REQUIRE(asked.all<TellVerdict>().size() == 1);
  CHECK(asked.all<TellVerdict>().front().verdict.waited ==
        left_alone.all<TellVerdict>().front().verdict.waited);
}

TEST_CASE("while the job is being stopped a person is told what is known, and no rank is asked",
          "[rank_machine]") {
  Told job;
  job.hang();
  job.on(WatchFreezes{});
  job.on(StacksWanted{});
  REQUIRE(job.all<ShowStacks>().size() == 1);
  CHECK(job.all<ShowStacks>().front().ask.empty());
  CHECK(job.all<ShowStacks>().front().known.ranks.size() == 2);
}

TEST_CASE("what a hook refuses is told, and what it fails in is recorded", "[rank_machine]") {
  Told job;
  job.body(0, "refused", watch::HookRefusal{"gloo for nccl", "tensors are on the GPU"});
  CHECK(job.notices() ==
        std::vector<std::string>{"gloo for nccl is refused: tensors are on the GPU"});
  job.body(0, "fault", watch::HookFault{"patch", "AttributeError"});
  CHECK(job.all<RecordSome>().size() == 1);
}

TEST_CASE("of many changes of the status few are recorded, and the last one always",
          "[rank_machine]") {
  constexpr int kRanks = 300;
  Told job({.stages = {.world_size = kRanks}});
  for (int rank = 0; rank < kRanks; ++rank)
    job.says(rank, RankStarted{Rank{rank}, process_of(rank), kRanks, Source::hook});
  job.pass(2s);
  job.on(WatchTimePassed{});
  std::vector<std::string> recorded;
  for (const RecordEvent& event : job.all<RecordEvent>())
    if (const auto* status = std::get_if<report::record::Status>(&event.event))
      recorded.push_back(status->text);
  REQUIRE_FALSE(recorded.empty());
  CHECK(recorded.size() < 10);
  CHECK(recorded.back().starts_with("spawned 300/300"));
}
