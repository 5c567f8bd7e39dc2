// Failures that the fault bench (tests/faults) showed to be named wrongly, each as the values it
// came down to.
#include <csignal>

#include "catch.h"
#include "safelaunch/diagnose/diagnosis.h"
#include "safelaunch/diagnose/explain.h"

using namespace safelaunch;

using namespace safelaunch::diagnose;
using namespace std::chrono_literals;

namespace {

std::string cause_of(const Evidence& evidence) {
  return diagnose::diagnose(evidence, Catalogue::builtin()).failure.cause;
}

std::string cause_of_line(const std::string& line) {
  const auto found = read_log(line + "\n", Catalogue::builtin());
  return found.empty() ? "none" : found.front().cause->id;
}

Evidence missing(MissingRank rank) {
  Evidence evidence;
  evidence.failure.kind = FailureKind::hung;
  evidence.failure.stage = Stage::group;
  evidence.failure.waited = 180s;
  evidence.failure.waiting = {Rank{0}};
  evidence.failure.missing = {std::move(rank)};
  return evidence;
}

}  // namespace

TEST_CASE("a rank that the launcher ended after another's timeout is not the first", "[faults]") {
  Evidence evidence;
  evidence.failure.kind = FailureKind::failed;
  evidence.training = Training::begun;
  evidence.command = Exited{1};
  evidence.failure.raised = {{Rank{0},
                              {},
                              "RuntimeError",
                              "Timed out waiting 5000ms for recv operation to complete",
                              "",
                              true}};
  evidence.failure.ended = {{Rank{0}, {}, Exited{1}}, {Rank{1}, {}, Signaled{SIGTERM}}};
  const Diagnosis diagnosis = diagnose::diagnose(evidence, Catalogue::builtin());
  CHECK(diagnosis.failure.first == Rank{0});
  CHECK(diagnosis.failure.cause != "rank-died");
  CHECK(exit_status_of(evidence, diagnosis) == 1);
}

TEST_CASE("a rank that somebody ended with SIGTERM is still the first", "[faults]") {
  Evidence evidence;
  evidence.command = Exited{1};
  evidence.failure.ended = {{Rank{1}, {}, Signaled{SIGTERM}}, {Rank{0}, {}, Exited{1}}};
  CHECK(diagnose::diagnose(evidence, Catalogue::builtin()).failure.first == Rank{1});
}

TEST_CASE("a rank that raised first and was ended by its launcher has its exception's status",
          "[faults]") {
  Evidence evidence;
  evidence.command = Exited{1};
  for (const int rank : {1, 0})
    evidence.failure.raised.push_back({Rank{rank},
                                       {},
                                       "RuntimeError",
                                       "Distributed package doesn't have NCCL built in",
                                       "",
                                       true});
  evidence.failure.ended = {{Rank{0}, {}, Exited{1}}, {Rank{1}, {}, Signaled{SIGTERM}}};
  const Diagnosis diagnosis = diagnose::diagnose(evidence, Catalogue::builtin());
  CHECK(diagnosis.failure.explanation.find("SIGTERM") == std::string::npos);
  CHECK(exit_status_of(evidence, diagnosis) == 1);
}

TEST_CASE("a missing rank that works is busy, not lost", "[faults]") {
  CHECK(cause_of(missing({Rank{1}, Activity::working, "uses 99 % of a CPU",
                          "job.py:3 tokenise"})) == "rank-busy");
  CHECK(cause_of(missing({Rank{1}, Activity::idling, "sleeping", "job.py:3 wait"})) ==
        "rank-missing");
}

TEST_CASE("a rank that spins inside its collective waits for its device, and is not busy",
          "[faults]") {
  MissingRank spins{Rank{1}, Activity::working, "uses 199 % of a CPU", "job.py:3 synchronize"};
  spins.inside = true;
  Evidence evidence = missing(spins);
  evidence.failure.stage = Stage::collective;
  CHECK(cause_of(evidence) == "collective-stuck");
}

TEST_CASE("a rank that nobody has seen may be out of reach", "[faults]") {
  Evidence evidence = missing({Rank{0}, Activity::unseen, "never seen", ""});
  evidence.failure.waiting = {Rank{1}};
  CHECK(cause_of(evidence) == "rank-missing");
  evidence.output = {
      {"stderr", Rank{1},
       "[W1121 15:25:26.276333768 socket.cpp:764] [c10d] The client socket has failed "
       "to connect to [10.7.0.9]:29500 (errno: 113 - No route to host).\n"}};
  CHECK(cause_of(evidence) == "connect-failed");
}

TEST_CASE("lines that the fault bench made name their cause", "[faults]") {
  CHECK(cause_of_line("RuntimeError: unable to allocate shared memory(shm) for file "
                      "</torch_11367_664688717_0>: No space left on device (28)") ==
        "shm-data-loader");
  CHECK(
      cause_of_line("RuntimeError: DataLoader worker (pid 7) is killed by signal: Bus error. It is "
                    "possible that dataloader's workers are out of shared memory. Please try to "
                    "raise your shared memory limit. ERROR: Unexpected bus error encountered in "
                    "worker. This might be caused by insufficient shared memory (shm).") ==
      "shm-data-loader");
  CHECK(
      cause_of_line("RuntimeError: [1]: params[0] in this process with sizes [2, 5] appears not to "
                    "match sizes of the same param in process 0.") == "ranks-disagree");
  CHECK(cause_of_line(
            "torch.distributed.DistNetworkError: The client socket has failed to connect to "
            "any network address of (10.7.0.9, 29500). The client socket has failed to "
            "connect to 178.85.0.0:47401 (errno: 101 - Network is unreachable).") ==
        "connect-failed");
  CHECK(cause_of_line("jax.errors.JaxRuntimeError: UNKNOWN: Failed to start RPC server") ==
        "jax-port-taken");
}
