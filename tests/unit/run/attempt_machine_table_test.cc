// The effect of each event in each state: read a table against the drawing of the states.
#include "attempt_story.h"

using namespace safelaunch;

using namespace safelaunch::run;
using namespace std::chrono_literals;
using Told = AttemptStory;

namespace {

/// An action in a word or two.
struct AttemptWord {
  std::string operator()(const AskRanks&) const { return "ask ranks"; }
  std::string operator()(const AskRas&) const { return "ask RAS"; }
  std::string operator()(const ForwardSignal&) const { return "forward"; }
  std::string operator()(const EndWatching&) const { return "end watching"; }
  std::string operator()(const RecordSegments&) const { return "record segments"; }
  std::string operator()(const TakeSegments& take) const {
    return take.remove_later ? "take segments to remove" : "take segments";
  }
  std::string operator()(const KeepOutput&) const { return "keep"; }
  std::string operator()(const HideOutput&) const { return "hide"; }
  std::string operator()(const StopJob& stop) const {
    constexpr std::array kModes{"polite", "sweep", "now", "await"};
    return std::string("stop ") + kModes.at(static_cast<std::size_t>(stop.wanted.mode));
  }
  std::string operator()(const NoteMainEnded&) const { return "note the end"; }
  std::string operator()(const RecordVerdict&) const { return "record verdict"; }
  std::string operator()(const RecordStall&) const { return "record stall"; }
  std::string operator()(const TellUser&) const { return "tell"; }
  std::string operator()(const FinishOutput&) const { return "finish output"; }
  std::string operator()(const AttemptOver&) const { return "over"; }
};

/// One line an event: what it makes an attempt do that came into its state by `way`.
std::string what_events_do(const std::function<void(Told&)>& way) {
  const std::vector<std::pair<std::string, AttemptEvent>> events{
      {"start failed", StartFailed{}},
      {"launcher ended", WorkerEnded{{}, Exited{0}}},
      {"rank ended well", rank_ended(1, Exited{0})},
      {"rank failed", rank_ended(1, Exited{3})},
      {"rank failed in training",
       WorkerEnded{.rank = Rank{1}, .status = Exited{3}, .others_run = true, .trained = true}},
      {"last rank failed", WorkerEnded{.rank = Rank{1}, .status = Exited{3}}},
      {"all ended", AllWorkersEnded{}},
      {"hang", VerdictFell{hung()}},
      {"hang that RAS may know", VerdictFell{hung(), true, true}},
      {"rank's death", VerdictFell{died()}},
      {"training", TrainingBegan{}},
      {"stall", TrainingStalled{}},
      {"it moves again", TrainingMoves{}},
      {"a wait timed out", WaitTimedOut{}},
      {"the server cannot listen", ServeFailed{}},
      {"ranks begin anew", TellNewLife{}},
      {"ranks answer", RanksAnswered{}},
      {"RAS answers", RasAnswered{}},
      {"way wanted", WayWanted{}},
      {"kill wanted", KillWanted{}},
      {"INT", SignalCame{SIGINT, launch::SignalOrigin::terminal, {}}},
      {"INT while ranks wait", SignalCame{SIGINT, launch::SignalOrigin::terminal, hung()}},
      {"TERM", SignalCame{SIGTERM, launch::SignalOrigin::user, {}}},
      {"USR1", SignalCame{SIGUSR1, launch::SignalOrigin::user, {}}},
      {"tree gone", TreeGone{}},
      {"tree gone, output drained", TreeGone{true}},
      {"recording stopped", RecordingStopped{}},
      {"output drained", OutputDrained{}},
      {"time passed", AttemptTimePassed{}},
  };
  return testing::table_of<AttemptWord, Told>(
      events, way, [](Told& story, const auto& event) { story.on(event); });
}

}  // namespace

TEST_CASE("what each event does in each state of an attempt", "[attempt]") {
  SECTION("running") {
    CHECK(what_events_do([](Told&) {}) == R"(
start failed: end watching, take segments, stop now
rank failed: end watching, take segments to remove, stop sweep
rank failed in training: end watching, take segments, stop polite
all ended: note the end, end watching, take segments, stop sweep
hang: record verdict, record segments, ask ranks
hang that RAS may know: record verdict, record segments, ask RAS, ask ranks
rank's death: record verdict, record segments
training: record segments
stall: ask ranks
it moves again: record stall, tell
a wait timed out: ask ranks
way wanted: keep, hide, end watching, take segments to remove, stop sweep
kill wanted: end watching, take segments, stop now
INT: ask ranks
INT while ranks wait: ask ranks
TERM: ask ranks
USR1: forward
tree gone: finish output
tree gone, output drained: over
recording stopped: tell
nothing: launcher ended; rank ended well; last rank failed; the server cannot listen;
  ranks begin anew; ranks answer; RAS answers; output drained; time passed
)");
  }
  SECTION("running, while the launcher reacts") {
    CHECK(what_events_do([](Told& attempt) { attempt.on(VerdictFell{died()}); }) == R"(
start failed: end watching, take segments, stop now
rank failed: end watching, take segments to remove, stop sweep
rank failed in training: end watching, take segments, stop polite
all ended: note the end, end watching, take segments, stop sweep
hang: record verdict, record segments, ask ranks
hang that RAS may know: record verdict, record segments, ask RAS, ask ranks
rank's death: record verdict, record segments
training: record segments
stall: ask ranks
it moves again: record stall, tell
a wait timed out: ask ranks
kill wanted: end watching, take segments, stop now
INT: ask ranks
INT while ranks wait: ask ranks
TERM: ask ranks
USR1: forward
tree gone: finish output
tree gone, output drained: over
recording stopped: tell
nothing: launcher ended; rank ended well; last rank failed; the server cannot listen;
  ranks begin anew; ranks answer; RAS answers; way wanted; output drained; time passed
)");
  }
  SECTION("running, while the ranks of a standstill are asked") {
    CHECK(what_events_do([](Told& attempt) { attempt.on(TrainingStalled{}); }) == R"(
start failed: end watching, take segments, stop now
rank failed: end watching, take segments to remove, stop sweep
rank failed in training: end watching, take segments, stop polite
all ended: note the end, end watching, take segments, stop sweep
hang: record verdict, record segments, ask ranks
hang that RAS may know: record verdict, record segments, ask RAS, ask ranks
rank's death: record verdict, record segments
training: record segments
stall: ask ranks
ranks answer: record stall, tell
way wanted: keep, hide, end watching, take segments to remove, stop sweep
kill wanted: end watching, take segments, stop now
INT: ask ranks
INT while ranks wait: ask ranks
TERM: ask ranks
USR1: forward
tree gone: finish output
tree gone, output drained: over
recording stopped: tell
nothing: launcher ended; rank ended well; last rank failed; it moves again; a wait timed out;
  the server cannot listen; ranks begin anew; RAS answers; output drained; time passed
)");
  }
  SECTION("explaining a Ctrl-C") {
    CHECK(what_events_do([](Told& attempt) { attempt.hang_with_a_person_waiting(); }) == R"(
start failed: end watching, take segments, stop now
rank failed: tell, tell, end watching, take segments, stop polite
rank failed in training: tell, tell, end watching, take segments, stop polite
all ended: note the end, end watching, take segments, stop sweep
hang: record verdict, record segments
hang that RAS may know: record verdict, record segments
rank's death: record verdict, record segments
training: record segments
ranks answer: tell, tell, end watching, take segments, stop polite
kill wanted: end watching, take segments, stop now
INT: tell, tell, end watching, take segments, stop polite, stop polite
INT while ranks wait: tell, tell, end watching, take segments, stop polite, stop polite
TERM: tell, tell, end watching, take segments, stop polite, stop polite
USR1: forward
tree gone: finish output
tree gone, output drained: over
recording stopped: tell
nothing: launcher ended; rank ended well; last rank failed; stall; it moves again;
  a wait timed out; the server cannot listen; ranks begin anew; RAS answers; way wanted;
  output drained; time passed
)");
  }
  SECTION("asking the ranks and RAS") {
    CHECK(what_events_do([](Told& attempt) {
            attempt.on(VerdictFell{hung(), false, true});
          }) == R"(
all ended: note the end
hang: record verdict, record segments
hang that RAS may know: record verdict, record segments
rank's death: record verdict, record segments
training: record segments
kill wanted: end watching, take segments, stop now
INT: keep, hide, end watching, take segments to remove, stop sweep, stop polite
INT while ranks wait: keep, hide, end watching, take segments to remove, stop sweep, stop polite
TERM: keep, hide, end watching, take segments to remove, stop sweep, stop polite
USR1: forward
tree gone: finish output
tree gone, output drained: over
recording stopped: tell
nothing: start failed; launcher ended; rank ended well; rank failed; rank failed in training;
  last rank failed; stall; it moves again; a wait timed out; the server cannot listen;
  ranks begin anew; ranks answer; RAS answers; way wanted; output drained; time passed
)");
  }
  SECTION("stopping") {
    CHECK(what_events_do([](Told& attempt) { attempt.be_stopped(); }) == R"(
all ended: note the end
hang: record verdict, record segments
hang that RAS may know: record verdict, record segments
rank's death: record verdict, record segments
training: record segments
kill wanted: stop now
INT: stop polite
INT while ranks wait: stop polite
TERM: stop polite
USR1: forward
tree gone: finish output
tree gone, output drained: over
recording stopped: tell
nothing: start failed; launcher ended; rank ended well; rank failed; rank failed in training;
  last rank failed; stall; it moves again; a wait timed out; the server cannot listen;
  ranks begin anew; ranks answer; RAS answers; way wanted; output drained; time passed
)");
  }
  SECTION("draining") {
    CHECK(what_events_do([](Told& attempt) { attempt.end_processes(); }) == R"(
all ended: note the end
hang: record verdict, record segments
hang that RAS may know: record verdict, record segments
rank's death: record verdict, record segments
training: record segments
INT: over
INT while ranks wait: over
TERM: over
USR1: forward
recording stopped: tell
output drained: over
nothing: start failed; launcher ended; rank ended well; rank failed; rank failed in training;
  last rank failed; stall; it moves again; a wait timed out; the server cannot listen;
  ranks begin anew; ranks answer; RAS answers; way wanted; kill wanted; tree gone;
  tree gone, output drained; time passed
)");
  }
  SECTION("over") {
    CHECK(what_events_do([](Told& attempt) { attempt.end_processes(true); }) == R"(
all ended: note the end
hang: record verdict, record segments
hang that RAS may know: record verdict, record segments
rank's death: record verdict, record segments
training: record segments
USR1: forward
recording stopped: tell
nothing: start failed; launcher ended; rank ended well; rank failed; rank failed in training;
  last rank failed; stall; it moves again; a wait timed out; the server cannot listen;
  ranks begin anew; ranks answer; RAS answers; way wanted; kill wanted; INT;
  INT while ranks wait; TERM; tree gone; tree gone, output drained; output drained; time passed
)");
  }
}
