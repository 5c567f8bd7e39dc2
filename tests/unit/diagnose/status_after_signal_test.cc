#include <csignal>

#include "catch.h"
#include "evidence_of.h"

using namespace safelaunch;

using namespace safelaunch::diagnose;
using namespace safelaunch::testing;

namespace {

diagnose::Evidence after(int signal, std::optional<ExitStatus> command) {
  diagnose::Evidence evidence;
  evidence.signal = signal;
  evidence.command = command;
  return evidence;
}

diagnose::Evidence under_torchrun(int signal, std::vector<RankExited> ranks) {
  diagnose::Evidence evidence = after(signal, Exited{1});
  evidence.command_hides = true;
  evidence.ended_in_stop = std::move(ranks);
  return evidence;
}

}  // namespace

TEST_CASE("a second Ctrl-C kills, and the status is the first one's", "[status_after_signal]") {
  CHECK(status(after(SIGINT, Signaled{SIGKILL})) == 130);
  CHECK(status(after(SIGINT, Signaled{SIGTERM})) == 130);
  // A shell reports the signal that ended its command.
  CHECK(status(after(SIGHUP, Exited{143})) == 129);
  CHECK(status(after(SIGTERM, std::nullopt)) == 143);
}

TEST_CASE("the status that ranks choose after a signal is the job's", "[status_after_signal]") {
  CHECK(status(after(SIGTERM, Exited{0})) == 0);
  CHECK(status(after(SIGTERM, Exited{85})) == 85);
  CHECK(status(after(SIGTERM, Signaled{SIGSEGV})) == 139);
  diagnose::Evidence evidence = after(SIGINT, Signaled{SIGINT});
  evidence.ended_in_stop = {{Rank{0}, {}, Signaled{SIGINT}}, {Rank{1}, {}, Exited{3}}};
  CHECK(status(evidence) == 3);
}

TEST_CASE("what torchrun says of itself after a signal is no rank's status",
          "[status_after_signal]") {
  CHECK(status(under_torchrun(SIGTERM, {})) == 143);
  CHECK(status(under_torchrun(
            SIGTERM, {{Rank{0}, {}, Signaled{SIGTERM}}, {Rank{1}, {}, Exited{0}}})) == 143);
  CHECK(status(under_torchrun(
            SIGTERM, {{Rank{0}, {}, Signaled{SIGTERM}}, {Rank{1}, {}, Exited{85}}})) == 85);
  CHECK(status(under_torchrun(SIGINT, {{Rank{0}, {}, std::nullopt}})) == 130);
}

TEST_CASE("a rank that failed before the signal keeps its status", "[status_after_signal]") {
  diagnose::Evidence evidence = under_torchrun(SIGTERM, {{Rank{1}, {}, Signaled{SIGTERM}}});
  evidence.failure.ended = {{Rank{0}, {}, Exited{7}}};
  CHECK(status(evidence) == 7);
}
