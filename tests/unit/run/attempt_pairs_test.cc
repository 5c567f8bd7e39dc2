// The outcome of an attempt when two things happen, one right after the other: the first one
// decides how it is stopped, the second can only make the stop harder.
#include "attempt_story.h"

using namespace safelaunch;
using namespace safelaunch::run;
using namespace std::chrono_literals;

namespace {

using Happenings = std::vector<std::pair<std::string, AttemptEvent>>;

const Happenings& happenings() {
  static const Happenings all{
      {"hang", VerdictFell{hung()}},
      {"death", VerdictFell{died()}},
      {"stall", TrainingStalled{{600s, {}, {}}}},
      {"rank failed", rank_ended(1, Exited{3})},
      {"INT", SignalCame{SIGINT, launch::SignalOrigin::terminal, {}}},
      {"INT while ranks wait", SignalCame{SIGINT, launch::SignalOrigin::terminal, hung()}},
      {"HUP", SignalCame{SIGHUP, launch::SignalOrigin::terminal, {}}},
      {"way wanted", WayWanted{}},
      {"kill wanted", KillWanted{}},
      {"launcher gone", AllWorkersEnded{}},
  };
  return all;
}

/// An attempt in so many words: what it is recorded as, and how it was stopped at last.
std::string what_came_of(const AttemptStory& attempt) {
  const AttemptOutcome& outcome = attempt.outcome();
  std::string text;
  const auto add = [&](const std::string& word) { text += (text.empty() ? "" : ", ") + word; };
  if (outcome.verdict) add(outcome.verdict->kind == FailureKind::hung ? "hung" : "died");
  if (outcome.command) add("failed");
  if (outcome.signal) add(signal_name(*outcome.signal));
  if (outcome.late_signal) add("late " + signal_name(*outcome.late_signal));
  if (outcome.gave_way) add("gave way");
  const auto stops = attempt.all<StopJob>();
  constexpr std::array kModes{"polite", "sweep", "now", "await"};
  std::string modes;
  for (const StopJob& stop : stops)
    modes += std::string(" ") + kModes.at(static_cast<std::size_t>(stop.wanted.mode));
  return text + (stops.empty() ? "; not stopped" : "; stopped" + modes);
}

/// One line for each second event: the first has happened, then that one, then the ranks answer.
std::string after(const std::string& first) {
  const auto named = std::ranges::find(happenings(), first, &Happenings::value_type::first);
  REQUIRE(named != happenings().end());
  std::string table = "\n";
  for (const auto& [second, event] : happenings()) {
    AttemptStory attempt;
    attempt.on(named->second);
    attempt.on(event);
    attempt.ranks_answer();
    table += second + ": " + what_came_of(attempt) + "\n";
    CHECK(attempt.all<EndWatching>().size() <= 1);
    CHECK(attempt.all<TakeSegments>().size() == attempt.all<EndWatching>().size());
  }
  return table;
}

}  // namespace

TEST_CASE("of two things that happen to an attempt at once the second never softens its stop",
          "[attempt]") {
  SECTION("a hang") {
    CHECK(after("hang") == R"(
hang: hung; stopped sweep
death: died; stopped sweep
stall: hung; stopped sweep
rank failed: hung; stopped sweep
INT: hung, late SIGINT; stopped sweep polite
INT while ranks wait: hung, late SIGINT; stopped sweep polite
HUP: hung, late SIGHUP; stopped sweep polite
way wanted: hung; stopped sweep
kill wanted: hung; stopped now
launcher gone: hung; stopped sweep
)");
  }
  SECTION("a rank's death") {
    CHECK(after("death") == R"(
hang: hung; stopped sweep
death: died; not stopped
stall: died; not stopped
rank failed: died, failed; stopped sweep
INT: died, SIGINT; stopped polite
INT while ranks wait: died, SIGINT; stopped polite
HUP: died, SIGHUP; stopped polite
way wanted: died; not stopped
kill wanted: died, gave way; stopped now
launcher gone: died; stopped sweep
)");
  }
  SECTION("a standstill in training") {
    CHECK(after("stall") == R"(
hang: hung; stopped sweep
death: died; not stopped
stall: ; not stopped
rank failed: failed; stopped sweep
INT: SIGINT; stopped polite
INT while ranks wait: SIGINT; stopped polite
HUP: SIGHUP; stopped polite
way wanted: gave way; stopped sweep
kill wanted: gave way; stopped now
launcher gone: ; stopped sweep
)");
  }
  SECTION("a rank of our own fails") {
    CHECK(after("rank failed") == R"(
hang: hung, failed; stopped sweep
death: died, failed; stopped sweep
stall: failed; stopped sweep
rank failed: failed; stopped sweep
INT: failed, late SIGINT; stopped sweep polite
INT while ranks wait: failed, late SIGINT; stopped sweep polite
HUP: failed, late SIGHUP; stopped sweep polite
way wanted: failed; stopped sweep
kill wanted: failed; stopped sweep now
launcher gone: failed; stopped sweep
)");
  }
  SECTION("Ctrl-C") {
    CHECK(after("INT") == R"(
hang: hung, SIGINT; stopped polite
death: died, SIGINT; stopped polite
stall: SIGINT; stopped polite
rank failed: failed, SIGINT; stopped polite
INT: SIGINT; stopped polite polite
INT while ranks wait: SIGINT; stopped polite polite
HUP: SIGINT; stopped polite polite
way wanted: SIGINT; stopped polite
kill wanted: SIGINT, gave way; stopped now
launcher gone: SIGINT; stopped sweep
)");
  }
  SECTION("Ctrl-C on a hang") {
    CHECK(after("INT while ranks wait") == R"(
hang: hung, SIGINT; stopped polite
death: died, SIGINT; stopped polite
stall: SIGINT; stopped polite
rank failed: failed, SIGINT; stopped polite
INT: SIGINT; stopped polite polite
INT while ranks wait: SIGINT; stopped polite polite
HUP: SIGINT; stopped polite polite
way wanted: SIGINT; stopped polite
kill wanted: SIGINT, gave way; stopped now
launcher gone: SIGINT; stopped sweep
)");
  }
  SECTION("the terminal is gone") {
    CHECK(after("HUP") == R"(
hang: hung, SIGHUP; stopped polite
death: died, SIGHUP; stopped polite
stall: SIGHUP; stopped polite
rank failed: failed, SIGHUP; stopped polite
INT: SIGHUP; stopped polite polite
INT while ranks wait: SIGHUP; stopped polite polite
HUP: SIGHUP; stopped polite polite
way wanted: SIGHUP; stopped polite
kill wanted: SIGHUP; stopped polite now
launcher gone: SIGHUP; stopped polite
)");
  }
  SECTION("another profile is to be tried") {
    CHECK(after("way wanted") == R"(
hang: hung, gave way; stopped sweep
death: died, gave way; stopped sweep
stall: gave way; stopped sweep
rank failed: gave way; stopped sweep
INT: SIGINT, gave way; stopped sweep polite
INT while ranks wait: SIGINT, gave way; stopped sweep polite
HUP: SIGHUP, gave way; stopped sweep polite
way wanted: gave way; stopped sweep
kill wanted: gave way; stopped sweep now
launcher gone: gave way; stopped sweep
)");
  }
  SECTION("the other nodes take this one for lost") {
    CHECK(after("kill wanted") == R"(
hang: hung, gave way; stopped now
death: died, gave way; stopped now
stall: gave way; stopped now
rank failed: gave way; stopped now
INT: SIGINT, gave way; stopped now polite
INT while ranks wait: SIGINT, gave way; stopped now polite
HUP: SIGHUP, gave way; stopped now polite
way wanted: gave way; stopped now
kill wanted: gave way; stopped now now
launcher gone: gave way; stopped now
)");
  }
  SECTION("the launcher has ended") {
    CHECK(after("launcher gone") == R"(
hang: hung; stopped sweep
death: died; stopped sweep
stall: ; stopped sweep
rank failed: ; stopped sweep
INT: late SIGINT; stopped sweep polite
INT while ranks wait: late SIGINT; stopped sweep polite
HUP: late SIGHUP; stopped sweep polite
way wanted: ; stopped sweep
kill wanted: ; stopped sweep now
launcher gone: ; stopped sweep
)");
  }
}
