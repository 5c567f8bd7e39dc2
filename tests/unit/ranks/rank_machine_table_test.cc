// The effect of each event in each state: read a table against the drawing of the states.
#include "rank_story.h"

using namespace safelaunch;

using namespace safelaunch::ranks;
using namespace std::chrono_literals;
using Told = RankStory;

namespace {

/// An action in a word or two.
struct WatchWord {
  std::string operator()(const WatchExit&) const { return "watch exit"; }
  std::string operator()(const AskWhetherItHears&) const { return "ask whether it hears"; }
  std::string operator()(const TakeLook&) const { return "look"; }
  std::string operator()(const SampleRanks&) const { return "sample ranks"; }
  std::string operator()(const SampleOthers&) const { return "sample others"; }
  std::string operator()(const FindUser&) const { return "find user"; }
  std::string operator()(const AskPlaces&) const { return "ask places"; }
  std::string operator()(const RemoveLocks&) const { return "remove locks"; }
  std::string operator()(const ShowStacks&) const { return "show stacks"; }
  std::string operator()(const PassAnswer&) const { return "pass answer"; }
  std::string operator()(const RecordEvent&) const { return "record"; }
  std::string operator()(const RecordSome&) const { return "record some"; }
  std::string operator()(const TellVerdict&) const { return "verdict"; }
  std::string operator()(const TellMeeting&) const { return "meeting"; }
  std::string operator()(const BeginTraining&) const { return "training"; }
  std::string operator()(const WaitTimedOut&) const { return "wait timed out"; }
  std::string operator()(const ServeFailed&) const { return "serve failed"; }
  std::string operator()(const ShowStatus&) const { return "status"; }
  std::string operator()(const ShowWaiting&) const { return "waiting"; }
  std::string operator()(const TellNotice&) const { return "notice"; }
  std::string operator()(const NcclSpoke&) const { return "NCCL said"; }
  std::string operator()(const TellNewLife&) const { return "new life"; }
  std::string operator()(const TellRanksGone&) const { return "ranks gone"; }
};

/// One line an event: what it makes a watch do that came into its state by `way`.
std::string what_events_do(const std::function<void(Told&)>& way) {
  using Happens = std::function<void(Told&)>;
  const auto event = [](const WatchEvent& one) -> Happens {
    return [one](Told& job) { job.on(one); };
  };
  const StageReached by_nccl{Rank{1}, process_of(1), Stage::communicator, Source::nccl_log};
  const std::vector<std::pair<std::string, Happens>> events{
      {"rank spawned", event(RankSpawned{Rank{0}, {900, 9}})},
      {"rank ended with 0", event(ProcessEnded{Rank{1}, process_of(1), Exited{0}})},
      {"rank failed", event(ProcessEnded{Rank{1}, process_of(1), Exited{3}})},
      {"stranger ended", event(ProcessEnded{Rank{1}, {901, 9}, Exited{3}})},
      {"hook enters a stage", [](Told& job) { job.waits(0, Stage::group); }},
      {"hook answers", [](Told& job) { job.body(1, "stack", watch::StackAnswer{}); }},
      {"hook refuses",
       [](Told& job) {
         job.body(1, "refused", watch::HookRefusal{"a", "b"});
       }},
      {"hook closed", event(HookClosed{process_of(1)})},
      {"hook floods", event(HookFlooded{process_of(1)})},
      {"a watchdog gives up", event(WatchdogSpoke{})},
      {"NCCL reaches a stage", event(NcclTold{by_nccl})},
      {"NCCL contradicts",
       event(nccl::Contradiction{nccl::RootComplaint::About::rank_twice, "twice"})},
      {"NCCL spoke", event(NcclSpoke{})},
      {"driver silent", event(DriverSilent{{Rank{0}}, "silent"})},
      {"all stand still", event(kStandstill)},
      {"places without a standstill", event(PlacesTold{})},
      {"look shows a rank", event(LookTaken{{}, {rank_in_proc(1)}})},
      {"look shows a silent rank alive", event(LookTaken{{process_of(1)}, {}})},
      {"ranks sampled",
       event(RanksSampled{{{Rank{1}, process_of(1), Activity::idling, "sleeping"}}})},
      {"others sampled", event(OthersSampled{})},
      {"another user runs", event(AnotherUserRuns{})},
      {"plugin passes a collective",
       [](Told& job) {
         watch::HookMessage message =
             message_of(1, StageReached{Rank{1}, process_of(1), Stage::collective, Source::plugin});
         message.source = Source::plugin;
         job.on(HookSpoke{process_of(1), message});
       }},
      {"hook counts", [](Told& job) { job.body(1, "exit", watch::HookExit{.collectives = 7}); }},
      {"hook fails",
       [](Told& job) {
         job.body(1, "error", watch::HookFault{"a", "b"});
       }},
      {"rank ended of a signal", event(ProcessEnded{Rank{1}, process_of(1), Signaled{9}})},
      {"rank ended, nobody knows how", event(ProcessEnded{Rank{1}, process_of(1), {}})},
      {"NCCL's worlds differ",
       event(nccl::Contradiction{nccl::RootComplaint::About::sizes_differ, "2 and 4"})},
      {"leader watches", event(LeaderWatches{})},
      {"leader watches no more", event(LeaderWatches{false})},
      {"node spoke", event(NodeSpoke{{1, "gpu-1"}, {RankPicture{.rank = Rank{2}}}})},
      {"node is silent", event(NodeHeard{1, false})},
      {"stacks wanted", event(StacksWanted{})},
      {"time passed", event(WatchTimePassed{})},
      {"frozen", event(WatchFreezes{})},
  };
  return testing::table_of<WatchWord, Told>(
      events, way, [](Told& job, const Happens& happens) { happens(job); });
}

void begin_two(Told& job) {
  for (const int rank : {0, 1}) job.starts(rank);
}

void train_two(Told& job) {
  begin_two(job);
  for (const int rank : {0, 1}) job.reaches(rank, Stage::collective);
}

}  // namespace

TEST_CASE("what each event does while ranks are judged, train or are stopped", "[rank_machine]") {
  SECTION("judged") {
    CHECK(what_events_do(begin_two) == R"(
rank failed: verdict
hook enters a stage: meeting
hook answers: pass answer
hook refuses: notice
hook floods: record some, notice
NCCL reaches a stage: record
NCCL contradicts: verdict
NCCL spoke: NCCL said
driver silent: verdict
all stand still: ask places
look shows a rank: status
look shows a silent rank alive: status
ranks sampled: status
others sampled: status
another user runs: record, notice
plugin passes a collective: record
hook counts: record some
hook fails: record some
rank ended of a signal: verdict
NCCL's worlds differ: verdict
leader watches: ask whether it hears, ask whether it hears, sample ranks, status
node spoke: record
stacks wanted: show stacks
time passed: status
nothing: rank spawned; rank ended with 0; stranger ended; hook closed; a watchdog gives up;
  places without a standstill; rank ended, nobody knows how; leader watches no more;
  node is silent; frozen
)");
  }
  SECTION("judged, while one waits for the other") {
    CHECK(what_events_do([](Told& job) {
            job.hang();
            job.pass(Duration(500));
          }) == R"(
rank ended with 0: verdict
rank failed: verdict
hook enters a stage: meeting
hook answers: pass answer
hook refuses: notice
hook floods: record some, notice
a watchdog gives up: wait timed out
NCCL reaches a stage: record
NCCL contradicts: verdict
NCCL spoke: NCCL said
driver silent: verdict
all stand still: ask places
look shows a rank: sample ranks
look shows a silent rank alive: sample ranks
another user runs: record, notice
plugin passes a collective: record
hook counts: record some
hook fails: record some
rank ended of a signal: verdict
NCCL's worlds differ: verdict
leader watches: sample ranks
node spoke: record
stacks wanted: show stacks
time passed: sample ranks
nothing: rank spawned; stranger ended; hook closed; places without a standstill; ranks sampled;
  others sampled; rank ended, nobody knows how; leader watches no more; node is silent; frozen
)");
  }
  SECTION("training") {
    CHECK(what_events_do(train_two) == R"(
hook enters a stage: meeting
hook answers: pass answer
hook refuses: notice
hook floods: record some, notice
a watchdog gives up: wait timed out
NCCL spoke: NCCL said
another user runs: record, notice
hook counts: record some
hook fails: record some
node spoke: record
stacks wanted: show stacks
nothing: rank spawned; rank ended with 0; rank failed; stranger ended; hook closed;
  NCCL reaches a stage; NCCL contradicts; driver silent; all stand still;
  places without a standstill; look shows a rank; look shows a silent rank alive; ranks sampled;
  others sampled; plugin passes a collective; rank ended of a signal;
  rank ended, nobody knows how; NCCL's worlds differ; leader watches; leader watches no more;
  node is silent; time passed; frozen
)");
  }
  SECTION("a verdict has fallen") {
    CHECK(what_events_do([](Told& job) {
            begin_two(job);
            job.ends(1, Exited{3});
          }) == R"(
hook enters a stage: meeting
hook answers: pass answer
hook refuses: notice
hook floods: record some, notice
NCCL spoke: NCCL said
another user runs: record, notice
plugin passes a collective: record
hook fails: record some
stacks wanted: show stacks
nothing: rank spawned; rank ended with 0; rank failed; stranger ended; hook closed;
  a watchdog gives up; NCCL reaches a stage; NCCL contradicts; driver silent; all stand still;
  places without a standstill; look shows a rank; look shows a silent rank alive; ranks sampled;
  others sampled; hook counts; rank ended of a signal; rank ended, nobody knows how;
  NCCL's worlds differ; leader watches; leader watches no more; node spoke; node is silent;
  time passed; frozen
)");
  }
  SECTION("judged elsewhere") {
    CHECK(what_events_do([](Told& job) {
            job = Told({.stages = {.world_size = 2, .judged_elsewhere = true}, .hook = true});
            begin_two(job);
          }) == R"(
rank failed: verdict
hook enters a stage: meeting
hook answers: pass answer
hook refuses: notice
hook floods: record some, notice
NCCL reaches a stage: record
NCCL contradicts: verdict
NCCL spoke: NCCL said
driver silent: verdict
all stand still: ask places
another user runs: record, notice
plugin passes a collective: record
hook counts: record some
hook fails: record some
rank ended of a signal: verdict
NCCL's worlds differ: verdict
leader watches: ask whether it hears, ask whether it hears, sample ranks
node spoke: record
stacks wanted: show stacks
nothing: rank spawned; rank ended with 0; stranger ended; hook closed; a watchdog gives up;
  places without a standstill; look shows a rank; look shows a silent rank alive; ranks sampled;
  others sampled; rank ended, nobody knows how; leader watches no more; node is silent;
  time passed; frozen
)");
  }
  SECTION("no rank is known yet") {
    CHECK(what_events_do([](Told&) {}) == R"(
rank spawned: record
hook enters a stage: watch exit, meeting, record
hook answers: pass answer
hook refuses: notice
hook floods: record some, notice
NCCL reaches a stage: record, record
NCCL contradicts: verdict
NCCL spoke: NCCL said
driver silent: verdict
all stand still: ask places
look shows a rank: watch exit, find user, status, record
look shows a silent rank alive: status
ranks sampled: status
others sampled: status
another user runs: record, notice
plugin passes a collective: record, record
hook fails: record some
NCCL's worlds differ: verdict
leader watches: sample ranks, status
node spoke: record, record
stacks wanted: show stacks
time passed: status
nothing: rank ended with 0; rank failed; stranger ended; hook closed; a watchdog gives up;
  places without a standstill; hook counts; rank ended of a signal;
  rank ended, nobody knows how; leader watches no more; node is silent; frozen
)");
  }
  SECTION("stopped") {
    CHECK(what_events_do([](Told& job) {
            begin_two(job);
            job.on(WatchFreezes{});
          }) == R"(
hook floods: record some
hook counts: record some
stacks wanted: show stacks
nothing: rank spawned; rank ended with 0; rank failed; stranger ended; hook enters a stage;
  hook answers; hook refuses; hook closed; a watchdog gives up; NCCL reaches a stage;
  NCCL contradicts; NCCL spoke; driver silent; all stand still; places without a standstill;
  look shows a rank; look shows a silent rank alive; ranks sampled; others sampled;
  another user runs; plugin passes a collective; hook fails; rank ended of a signal;
  rank ended, nobody knows how; NCCL's worlds differ; leader watches; leader watches no more;
  node spoke; node is silent; time passed; frozen
)");
  }
}
