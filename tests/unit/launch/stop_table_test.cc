// The effect of each event in each phase of a stop: read the table against the drawing in stop.h.
#include <functional>

#include "catch.h"
#include "machine_story.h"
#include "safelaunch/base/process.h"
#include "safelaunch/launch/stop.h"

using namespace safelaunch;
using namespace safelaunch::launch;

namespace {

struct StopWord {
  std::string operator()(const AskMain& ask) const { return "ask " + signal_name(ask.signal); }
  std::string operator()(const SignalTree& all) const { return "all " + signal_name(all.signal); }
  std::string operator()(const StopDone&) const { return "done"; }
};

/// A stop of which only the decisions are real; a second has passed since each event.
class StopStory : public testing::Deeds<StopAction> {
 public:
  void on(const StopEvent& event) {
    for (const StopAction& action : sequence_.on(event, now_)) done_.push_back(action);
    now_ += std::chrono::seconds(1);
  }
  void asks(int signal) { on(StopWanted{StopMode::polite, signal, Duration{30'000}}); }
  void sweeps() { on(StopWanted{StopMode::sweep, 0, Duration{10'000}}); }
  void kills() { on(StopWanted{StopMode::now, 0, {}}); }

 private:
  StopSequence sequence_;
  TimePoint now_{};
};

std::string what_stops_do(const std::function<void(StopStory&)>& way) {
  const auto polite = [](int signal) { return StopWanted{StopMode::polite, signal, {}}; };
  const std::vector<std::pair<std::string, StopEvent>> events{
      {"INT", polite(SIGINT)},
      {"HUP", polite(SIGHUP)},
      {"QUIT", polite(SIGQUIT)},
      {"sweep", StopWanted{StopMode::sweep, 0, Duration{1'000}}},
      {"now", StopWanted{StopMode::now, 0, {}}},
      {"main ended", MainEnded{}},
      {"main killed", MainEnded{MainEnded::How::by_signal}},
      {"ranks gone", RanksGone{}},
      {"tree empty", TreeEmpty{}},
      {"time passed", TimePassed{}},
  };
  return testing::table_of<StopWord, StopStory>(
      events, way, [](StopStory& stop, const StopEvent& event) { stop.on(event); });
}

}  // namespace

TEST_CASE("what each event does in each phase of a stop") {
  SECTION("idle") {
    CHECK(what_stops_do([](StopStory&) {}) == R"(
INT: ask SIGINT
HUP: ask SIGHUP
QUIT: ask SIGQUIT
sweep: all SIGTERM, all SIGCONT
now: all SIGKILL
nothing: main ended; main killed; ranks gone; tree empty; time passed
)");
  }
  SECTION("idle, and the launcher has ended") {
    CHECK(what_stops_do([](StopStory& stop) { stop.on(MainEnded{}); }) == R"(
INT: all SIGTERM, all SIGCONT
HUP: all SIGTERM, all SIGCONT
QUIT: all SIGTERM, all SIGCONT
sweep: all SIGTERM, all SIGCONT
now: all SIGKILL
nothing: main ended; main killed; ranks gone; tree empty; time passed
)");
  }
  SECTION("asking by INT") {
    CHECK(what_stops_do([](StopStory& stop) { stop.asks(SIGINT); }) == R"(
INT: all SIGKILL
QUIT: ask SIGQUIT
sweep: all SIGTERM, all SIGCONT
now: all SIGKILL
main ended: all SIGTERM, all SIGCONT
main killed: all SIGTERM, all SIGCONT
tree empty: done
nothing: HUP; ranks gone; time passed
)");
  }
  SECTION("asking by HUP") {
    CHECK(what_stops_do([](StopStory& stop) { stop.asks(SIGHUP); }) == R"(
INT: ask SIGINT
QUIT: ask SIGQUIT
sweep: all SIGTERM, all SIGCONT
now: all SIGKILL
main ended: all SIGTERM, all SIGCONT
main killed: all SIGTERM, all SIGCONT
tree empty: done
nothing: HUP; ranks gone; time passed
)");
  }
  SECTION("sweeping a job that hangs") {
    CHECK(what_stops_do([](StopStory& stop) { stop.sweeps(); }) == R"(
now: all SIGKILL
tree empty: done
nothing: INT; HUP; QUIT; sweep; main ended; main killed; ranks gone; time passed
)");
  }
  SECTION("sweeping what a launcher left that the user has asked") {
    CHECK(what_stops_do([](StopStory& stop) {
            stop.asks(SIGTERM);
            stop.on(MainEnded{MainEnded::How::by_signal});
          }) == R"(
INT: all SIGKILL
now: all SIGKILL
tree empty: done
nothing: HUP; QUIT; sweep; main ended; main killed; ranks gone; time passed
)");
  }
  SECTION("killing") {
    CHECK(what_stops_do([](StopStory& stop) { stop.kills(); }) == R"(
tree empty: done
time passed: all SIGKILL
nothing: INT; HUP; QUIT; sweep; now; main ended; main killed; ranks gone
)");
  }
  SECTION("done") {
    CHECK(what_stops_do([](StopStory& stop) {
            stop.kills();
            stop.on(TreeEmpty{});
          }) == R"(
nothing: INT; HUP; QUIT; sweep; now; main ended; main killed; ranks gone; tree empty;
  time passed
)");
  }
}

TEST_CASE("a sweep of what was asked politely does not prolong the grace") {
  const TimePoint t0{};
  StopSequence stop;
  (void)stop.on(StopWanted{StopMode::polite, SIGTERM, Duration{30'000}}, t0);
  (void)stop.on(StopWanted{StopMode::sweep, 0, Duration{10'000}}, t0 + std::chrono::seconds(29));
  CHECK(stop.deadline() == t0 + std::chrono::seconds(30));
}

TEST_CASE("what a launcher left that had ended before the signal has no more than a second") {
  const TimePoint t0{};
  StopSequence stop;
  (void)stop.on(MainEnded{}, t0);
  (void)stop.on(StopWanted{StopMode::polite, SIGTERM, Duration{30'000}}, t0);
  CHECK(stop.deadline() == t0 + kSweepGrace);
}
