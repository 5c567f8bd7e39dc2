// What each event does in each state: read a table against the drawing of the states.
#include "rank_story.h"

using namespace safelaunch;

using namespace safelaunch::ranks;
using namespace std::chrono_literals;
using Told = RankStory;

namespace {

/// What an action does, in a word or two.
struct Word {
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
  std::string operator()(const ShowStatus&) const { return "status"; }
  std::string operator()(const ShowWaiting&) const { return "waiting"; }
  std::string operator()(const TellNotice&) const { return "notice"; }
  std::string operator()(const TellNcclSaid&) const { return "NCCL said"; }
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
      {"NCCL reaches a stage", event(NcclTold{by_nccl})},
      {"NCCL contradicts",
       event(nccl::Contradiction{nccl::RootComplaint::About::rank_twice, "twice"})},
      {"NCCL spoke", event(NcclSpoke{})},
      {"driver silent", event(DriverSilent{{Rank{0}}, "silent"})},
      {"all stand still", event(kStandstill)},
      {"places without a standstill", event(PlacesTold{})},
      {"frozen", event(WatchFreezes{})},
  };
  return testing::table_of<Word, Told>(events, way,
                                       [](Told& job, const Happens& happens) { happens(job); });
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
rank spawned
rank ended with 0
rank failed: verdict
stranger ended
hook enters a stage: meeting, record some
hook answers: pass answer
hook refuses: notice
hook closed
hook floods: record some, notice
NCCL reaches a stage: record, record some
NCCL contradicts: verdict
NCCL spoke: NCCL said
driver silent: verdict
all stand still: ask places
places without a standstill
frozen
)");
  }
  SECTION("judged, while one waits for the other") {
    CHECK(what_events_do([](Told& job) {
            job.hang();
            job.pass(Duration(500));
          }) == R"(
rank spawned
rank ended with 0: verdict, record some
rank failed: verdict, record some
stranger ended
hook enters a stage: meeting
hook answers: pass answer
hook refuses: notice
hook closed
hook floods: record some, notice
NCCL reaches a stage: record, record some
NCCL contradicts: verdict
NCCL spoke: NCCL said
driver silent: verdict
all stand still: ask places
places without a standstill
frozen
)");
  }
  SECTION("training") {
    CHECK(what_events_do(train_two) == R"(
rank spawned
rank ended with 0
rank failed
stranger ended
hook enters a stage: meeting, record some
hook answers: pass answer
hook refuses: notice
hook closed
hook floods: record some, notice
NCCL reaches a stage
NCCL contradicts
NCCL spoke: NCCL said
driver silent
all stand still
places without a standstill
frozen
)");
  }
  SECTION("stopped") {
    CHECK(what_events_do([](Told& job) {
            begin_two(job);
            job.on(WatchFreezes{});
          }) == R"(
rank spawned
rank ended with 0
rank failed
stranger ended
hook enters a stage
hook answers
hook refuses
hook closed
hook floods: record some
NCCL reaches a stage
NCCL contradicts
NCCL spoke
driver silent
all stand still
places without a standstill
frozen
)");
  }
}
