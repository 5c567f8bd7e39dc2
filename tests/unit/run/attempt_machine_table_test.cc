// What each event does in each state: read a table against the drawing of the states.
#include "attempt_story.h"

using namespace safelaunch;

using namespace safelaunch::run;
using namespace std::chrono_literals;
using Told = AttemptStory;

namespace {

/// What an action does, in a word or two.
struct Word {
  std::string operator()(const AskRanks&) const { return "ask ranks"; }
  std::string operator()(const AskRas&) const { return "ask RAS"; }
  std::string operator()(const ForwardSignal&) const { return "forward"; }
  std::string operator()(const EndWatching&) const { return "end watching"; }
  std::string operator()(const RecordSegments&) const { return "record segments"; }
  std::string operator()(const TakeSegments& take) const {
    return take.remove_later ? "take segments to remove" : "take segments";
  }
  std::string operator()(const HideOutput&) const { return "hide"; }
  std::string operator()(const StopJob& stop) const {
    constexpr std::array kModes{"polite", "sweep", "now"};
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
      {"rank failed", rank_ended(1, Exited{3})},
      {"all ended", AllWorkersEnded{}},
      {"hang", VerdictFell{hung()}},
      {"rank's death", VerdictFell{died()}},
      {"training", TrainingBegan{}},
      {"stall", TrainingStalled{}},
      {"ranks answer", RanksAnswered{}},
      {"RAS answers", RasAnswered{}},
      {"way wanted", WayWanted{}},
      {"tree gone", TreeGone{}},
      {"output drained", OutputDrained{}},
  };
  return testing::table_of<Word, Told>(events, way,
                                       [](Told& story, const auto& event) { story.on(event); });
}

}  // namespace

TEST_CASE("what each event does in each state of an attempt", "[attempt]") {
  SECTION("running") {
    CHECK(what_events_do([](Told&) {}) == R"(
rank failed: end watching, take segments to remove, stop sweep
all ended: note the end, end watching, take segments, stop sweep
hang: record verdict, record segments, ask ranks
rank's death: record verdict, record segments
training: record segments
stall: ask ranks
ranks answer
RAS answers
way wanted: hide, end watching, take segments to remove, stop sweep
tree gone: finish output
output drained
)");
  }
  SECTION("running, while the launcher reacts") {
    CHECK(what_events_do([](Told& attempt) { attempt.on(VerdictFell{died()}); }) == R"(
rank failed: end watching, take segments to remove, stop sweep
all ended: note the end, end watching, take segments, stop sweep
hang: record verdict, record segments, ask ranks
rank's death: record verdict, record segments
training: record segments
stall: ask ranks
ranks answer
RAS answers
way wanted: hide, end watching, take segments to remove, stop sweep
tree gone: finish output
output drained
)");
  }
  SECTION("running, while the ranks of a standstill are asked") {
    CHECK(what_events_do([](Told& attempt) { attempt.on(TrainingStalled{}); }) == R"(
rank failed: end watching, take segments to remove, stop sweep
all ended: note the end, end watching, take segments, stop sweep
hang: record verdict, record segments, ask ranks
rank's death: record verdict, record segments
training: record segments
stall: ask ranks
ranks answer: record stall, tell
RAS answers
way wanted: hide, end watching, take segments to remove, stop sweep
tree gone: finish output
output drained
)");
  }
  SECTION("explaining a Ctrl-C") {
    CHECK(what_events_do([](Told& attempt) { attempt.hang_with_a_person_waiting(); }) == R"(
rank failed: tell, tell, end watching, take segments, stop polite
all ended: note the end, end watching, take segments, stop sweep
hang: record verdict, record segments
rank's death: record verdict, record segments
training: record segments
stall
ranks answer: tell, tell, end watching, take segments, stop polite
RAS answers
way wanted
tree gone: finish output
output drained
)");
  }
  SECTION("asking the ranks and RAS") {
    CHECK(what_events_do([](Told& attempt) {
            attempt.on(VerdictFell{hung(), false, true});
          }) == R"(
rank failed
all ended: note the end
hang: record verdict, record segments
rank's death: record verdict, record segments
training: record segments
stall
ranks answer
RAS answers
way wanted
tree gone: finish output
output drained
)");
  }
  SECTION("stopping") {
    CHECK(what_events_do([](Told& attempt) { attempt.be_stopped(); }) == R"(
rank failed
all ended: note the end
hang: record verdict, record segments
rank's death: record verdict, record segments
training: record segments
stall
ranks answer
RAS answers
way wanted
tree gone: finish output
output drained
)");
  }
  SECTION("draining") {
    CHECK(what_events_do([](Told& attempt) { attempt.end_processes(); }) == R"(
rank failed
all ended: note the end
hang: record verdict, record segments
rank's death: record verdict, record segments
training: record segments
stall
ranks answer
RAS answers
way wanted
tree gone: finish output
output drained: over
)");
  }
  SECTION("over") {
    CHECK(what_events_do([](Told& attempt) { attempt.end_processes(true); }) == R"(
rank failed
all ended: note the end
hang: record verdict, record segments
rank's death: record verdict, record segments
training: record segments
stall
ranks answer
RAS answers
way wanted
tree gone: finish output
output drained
)");
  }
}
