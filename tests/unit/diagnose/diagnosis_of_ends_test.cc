// How attempts came to their end: by a status, a signal, an abort, or in order.
#include <csignal>

#include "catch.h"
#include "evidence_of.h"

using namespace safelaunch;

using namespace safelaunch::diagnose;
using namespace safelaunch::testing;

TEST_CASE("an attempt that failed never ends with status 0", "[diagnosis]") {
  diagnose::Evidence evidence;
  evidence.failure.kind = FailureKind::rank_died;
  evidence.failure.ended = {{Rank{0}, {}, Exited{0}}};
  CHECK(status(evidence) == 1);
  evidence.command = Exited{0};
  CHECK(status(evidence) == 1);
}

TEST_CASE("an opaque command that fails without a word keeps its status", "[diagnosis]") {
  diagnose::Evidence evidence = only_text("");
  evidence.command = Exited{42};
  CHECK(diagnosed(evidence).failure.cause == "command-failed");
  CHECK(diagnosed(evidence).failure.explanation == "The command failed (exit status 42).");
  CHECK(status(evidence) == 42);
}

TEST_CASE("a script that caught its rank's failure ends with the status that it chose",
          "[diagnosis]") {
  diagnose::Evidence evidence;
  evidence.training = diagnose::Training::begun;
  evidence.failure.ended = {{Rank{1}, {}, Exited{17}}};
  evidence.command = Exited{11};
  evidence.command_hides = true;
  CHECK(status(evidence) == 17);
  evidence.command_hides = false;
  CHECK(status(evidence) == 11);
  evidence.command = Exited{1};  // nobody caught it
  CHECK(status(evidence) == 17);
}

namespace {

diagnose::Evidence aborted_at_its_end() {
  diagnose::Evidence evidence;
  evidence.training = diagnose::Training::begun;
  evidence.failure.ended = {{Rank{1}, {}, Signaled{SIGABRT}}};
  evidence.command = Exited{1};
  evidence.finished = {Rank{0}, Rank{1}};
  evidence.all_finished = true;
  evidence.output = {{"rank-1.err", Rank{1}, "terminate called without an active exception\n"}};
  return evidence;
}

}  // namespace

TEST_CASE("a rank that aborts after its program's end is told as one that had finished",
          "[diagnosis]") {
  const diagnose::Evidence evidence = aborted_at_its_end();
  const diagnose::Diagnosis d = diagnosed(evidence);
  CHECK(d.failure.cause == "abort-at-exit");
  CHECK(d.failure.certainty == Certainty::confirmed);
  CHECK(d.failure.explanation ==
        "Rank 1 finished, then aborted while its interpreter ended; all ranks had finished, so "
        "nothing of your training is lost.");
  CHECK(stops(d, diagnose::StopReason::finished));
  CHECK(status(evidence) == 134);
}

TEST_CASE("what a launcher ends for such a rank may have lost something", "[diagnosis]") {
  diagnose::Evidence evidence = aborted_at_its_end();
  evidence.all_finished = false;
  CHECK(diagnosed(evidence).failure.explanation.find("nothing") == std::string::npos);
}

TEST_CASE("a program that has finished is not started again, whether or not it was seen to train",
          "[diagnosis]") {
  diagnose::Evidence evidence = aborted_at_its_end();
  evidence.training = diagnose::Training::not_begun;
  evidence.failure.kind = FailureKind::rank_died;
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::finished));
}

TEST_CASE("an abort is the interpreter's end only of a rank that had come to it, and first",
          "[diagnosis]") {
  diagnose::Evidence before_its_end = aborted_at_its_end();
  before_its_end.finished = {Rank{0}};
  diagnose::Evidence another_failed = aborted_at_its_end();
  another_failed.failure.ended.insert(another_failed.failure.ended.begin(),
                                      {Rank{0}, {}, Exited{3}});
  diagnose::Evidence crashed = aborted_at_its_end();
  crashed.failure.ended = {{Rank{1}, {}, Signaled{SIGSEGV}}};
  for (const diagnose::Evidence& evidence : {before_its_end, another_failed, crashed})
    CHECK(diagnosed(evidence).failure.cause != "abort-at-exit");
}

// On an H200: the watchdog aborts the communicator, so that the program no longer waits and comes
// to its end, and a second later the process.
TEST_CASE("an abort of torch's watchdog is told as its timeout, also where the program had ended",
          "[diagnosis]") {
  diagnose::Evidence evidence = aborted_at_its_end();
  evidence.all_finished = false;
  evidence.output = {
      {"stderr", Rank{1},
       "[rank1]:[E1126 14:15:19.578211222 ProcessGroupNCCL.cpp:689] [Rank 1] Watchdog caught "
       "collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, "
       "Timeout(ms)=6000) ran for 6048 milliseconds before timing out.\n"
       "terminate called after throwing an instance of 'c10::DistBackendError'\n"}};
  CHECK(diagnosed(evidence).failure.cause == "watchdog-timeout");
}

TEST_CASE("a rank that ends with sys.exit(1) has chosen it, whatever was printed before",
          "[diagnosis]") {
  diagnose::Evidence evidence;
  evidence.failure.kind = FailureKind::rank_died;
  evidence.failure.ended = {{Rank{0}, {}, Exited{1}}};
  evidence.finished = {Rank{0}};
  for (const char* line : {"tensorboard could not bind to port 6006: Address already in use\n",
                           "proxy lookup: Temporary failure in name resolution; offline mode\n",
                           "could not connect to the store at db:5432: Connection refused\n"}) {
    evidence.output = {{"rank-0.err", Rank{0}, line}};
    CHECK(diagnosed(evidence).failure.cause == "rank-died");
    CHECK(stops(diagnosed(evidence), diagnose::StopReason::users_own));
  }
}

TEST_CASE("an exception that was printed before sys.exit(1) may be its reason", "[diagnosis]") {
  diagnose::Evidence evidence;
  evidence.failure.kind = FailureKind::rank_died;
  evidence.failure.ended = {{Rank{0}, {}, Exited{1}}};
  evidence.finished = {Rank{0}};
  const std::string traceback =
      "Traceback (most recent call last):\n  File \"a.py\", line 3\nRuntimeError: no data\n"
      "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n";
  evidence.output = {{"stderr", std::nullopt, traceback}};
  CHECK(diagnosed(evidence).failure.cause == "user-exception");
  CHECK(diagnosed(evidence).failure.certainty == Certainty::guess);
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::users_own));
  evidence.output = {{"rank-1.err", Rank{1}, traceback}};
  CHECK(diagnosed(evidence).failure.cause == "rank-died");
}

TEST_CASE("a known reason that was printed before sys.exit(1) is told as that, not as an end",
          "[diagnosis][bug]") {
  const auto told = [](const std::string& last) {
    Evidence evidence;
    evidence.failure.kind = FailureKind::rank_died;
    evidence.failure.ended = {{Rank{0}, {}, Exited{1}}};
    evidence.finished = {Rank{0}};
    evidence.output = {{"stderr", std::nullopt,
                        "Traceback (most recent call last):\n  File \"a.py\", line 3\n" + last +
                            "\nSet the environment variable HYDRA_FULL_ERROR=1 …\n"}};
    return diagnosed(evidence).failure.cause;
  };
  CHECK(told("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.") ==
        "gpu-oom");
  CHECK(told("ModuleNotFoundError: No module named 'apex'") == "module-missing");
  CHECK(told("OSError: [Errno 28] No space left on device") == "disk-full");
  // Of a database, perhaps: no profile is tried for it.
  CHECK(told("ConnectionRefusedError: [Errno 111] Connection refused") != "connect-failed");
}

TEST_CASE("a mistake of the script's is its own, whatever its ranks have reduced before",
          "[diagnosis][bug]") {
  Evidence evidence;
  evidence.failure.kind = FailureKind::raised;
  evidence.training = Training::begun;
  evidence.failure.raised = {{Rank{1}, {}, "ValueError", "unknown option: no_such_key", "", false}};
  CHECK(stops(diagnosed(evidence), StopReason::users_own));
  // Where it stood still, its profile may start it again (on_stall: restart).
  evidence.failure.kind = FailureKind::stalled;
  evidence.failure.missing = {{.rank = Rank{1}}};
  evidence.hidden = evidence.failure.raised;
  CHECK(stops(diagnosed(evidence), StopReason::training_begun));
  CHECK(diagnosed(evidence).passes);
  evidence.failure = {.kind = FailureKind::raised, .ended = {{Rank{1}, {}, Signaled{SIGKILL}}}};
  evidence.hidden.clear();
  CHECK(stops(diagnosed(evidence), StopReason::training_begun));
}

TEST_CASE("who prints an exception and ends in order failed before those that are killed for it",
          "[diagnosis]") {
  const auto traceback = [](const std::string& tag, const std::string& last) {
    return tag + "Traceback (most recent call last):\n" + tag + "  File \"a.py\", line 3\n" + tag +
           last + "\n";
  };
  const std::string engine = traceback("", "Exception: a worker failed, see above");
  Evidence evidence;
  evidence.failure.kind = FailureKind::rank_died;
  evidence.failure.ended = {{Rank{0}, {}, Signaled{SIGKILL}}};
  evidence.oom_kills = 0;
  evidence.finished = {Rank{1}};
  evidence.output = {{"stderr", std::nullopt, traceback("[rank1]: ", "KeyError: 7") + engine}};
  CHECK(diagnosed(evidence).failure.cause == "user-exception");
  CHECK(diagnosed(evidence).failure.first == Rank{1});
  CHECK(status(evidence) == 1);
  evidence.finished.clear();
  evidence.output = {{"stderr", std::nullopt, engine}};  // about the rank that was killed
  CHECK(diagnosed(evidence).failure.cause == "rank-died");
  CHECK(diagnosed(evidence).failure.first == Rank{0});
}

TEST_CASE("a rank that raised and was killed with all others failed first, as of SGLang's",
          "[diagnosis]") {
  Evidence evidence;
  evidence.failure.kind = FailureKind::rank_died;
  evidence.failure.ended = {{Rank{0}, {}, Signaled{SIGKILL}}, {Rank{1}, {}, Signaled{SIGKILL}}};
  evidence.oom_kills = 0;
  RankRaised one = raised(1, "DistBackendError", "NCCL error: unhandled cuda error");
  one.traceback = "Trace";
  SECTION("by an exception of its own") {
    one.type = "ValueError";
  }
  SECTION("by one of its communication") {
    one.communication = true;
  }
  evidence.failure.raised = {one};
  CHECK(diagnosed(evidence).failure.first == Rank{1});
  CHECK(diagnosed(evidence).failure.cause != "rank-died");
  evidence.failure.raised.front().after_a_kill = true;  // of rank 0
  CHECK(diagnosed(evidence).failure.first == Rank{0});
  CHECK(diagnosed(evidence).failure.cause == "rank-died");
  one.message = "Connection closed by peer";  // a victim, killed or not
  one.communication = true;
  evidence.failure.raised = {one};
  CHECK(diagnosed(evidence).failure.first == Rank{0});
}

TEST_CASE("a rank that never came may have failed by the exception that was printed",
          "[diagnosis]") {
  Evidence evidence = hang(Stage::rendezvous, {{Rank{1}, Activity::idling, "", ""}});
  evidence.confirmations = {{"rank-not-started", "The world has 2 ranks, and 1 came"}};
  CHECK(diagnosed(evidence).failure.cause == "rank-not-started");
  evidence.output = {{"stderr", std::nullopt,
                      "Traceback (most recent call last):\n  File \"a.py\", line 3\n"
                      "FileNotFoundError: [Errno 2] No such file or directory: '/data/1.bin'\n"}};
  CHECK(diagnosed(evidence).failure.cause == "user-exception");
}

TEST_CASE("a rank that ends in order with 2 tells why: no script, or words that it refuses",
          "[diagnosis]") {
  const auto cause_of = [](const std::string& line, int status) {
    diagnose::Evidence evidence;
    evidence.failure.kind = FailureKind::rank_died;
    evidence.failure.ended = {{Rank{0}, {}, Exited{status}}};
    evidence.finished = {Rank{0}};
    evidence.output = {{"stderr", std::nullopt, line + "\n"}};
    return diagnosed(evidence).failure.cause;
  };
  const std::string no_script = "python: can't open file '/tmp/t.py': [Errno 2] No such file";
  CHECK(cause_of(no_script, 2) == "script-missing");
  CHECK(cause_of("train.py: error: unrecognized arguments: --master_port", 2) == "bad-arguments");
  CHECK(cause_of("train.py: error: unrecognized arguments: --local-rank=0", 2) ==
        "local-rank-argument");
  CHECK(cause_of(no_script, 1) == "rank-died");  // it may have printed that about anything
}

TEST_CASE("an exception that ended a rank counts before those that the script has caught",
          "[diagnosis]") {
  Evidence evidence =
      with_exceptions({raised(1, "ModuleNotFoundError", "No module named 'flash_attn'")});
  evidence.failure.ended = {{Rank{1}, {}, Exited{1}}};
  evidence.output = {{"stderr", std::nullopt,
                      "Traceback (most recent call last):\n  File \"a.py\", line 3\n"
                      "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"}};
  CHECK(diagnosed(evidence).failure.cause == "module-missing");
}

TEST_CASE("an import that failed and was caught is no cause of what came later", "[diagnosis]") {
  const Output caught{"stderr", std::nullopt,
                      "Traceback (most recent call last):\n  File \"x.py\", line 3\n"
                      "ModuleNotFoundError: No module named 'triton'\n"};
  Evidence died =
      with_exceptions({raised(0, "RuntimeError", "gloo/pair.cc: Connection closed by peer")});
  died.failure.ended = {{Rank{1}, {}, Signaled{SIGKILL}}, {Rank{0}, {}, Exited{1}}};
  died.output = {caught};
  died.oom_kills = 0;
  CHECK(diagnosed(died).failure.cause == "rank-died");
  Evidence stuck = hang(Stage::group, {{Rank{1}, Activity::quiet, "", ""}});
  stuck.output = {caught};
  CHECK(diagnosed(stuck).failure.cause == "rank-missing");
}

TEST_CASE("a rank that ends in order while others still wait for it is told as such",
          "[diagnosis]") {
  Evidence evidence =
      with_exceptions({raised(0, "RuntimeError", "gloo/pair.cc: Connection closed by peer")});
  evidence.failure.ended = {{Rank{1}, {}, Exited{0}}, {Rank{0}, {}, Exited{1}}};
  evidence.finished = {Rank{1}};
  const Diagnosis left = diagnosed(evidence);
  CHECK(left.failure.cause == "rank-left");
  CHECK(left.failure.certainty == Certainty::confirmed);
  CHECK(left.failure.explanation.find("rank 1 came to its end in order") != std::string::npos);
  std::swap(evidence.failure.ended[0], evidence.failure.ended[1]);
  CHECK(diagnosed(evidence).failure.cause == "rank-left");  // its end takes its time
  CHECK(diagnosed(evidence).failure.certainty == Certainty::guess);
  evidence.finished.clear();
  CHECK(diagnosed(evidence).failure.cause == "peer-lost");
}

TEST_CASE("a script that fails after all its ranks have finished is no rank that died",
          "[diagnosis][bug]") {
  Evidence evidence;
  evidence.failure.kind = FailureKind::failed;
  evidence.command = Exited{42};
  CHECK(diagnosed(evidence).failure.cause == "command-failed");
  CHECK(diagnosed(evidence).failure.certainty == Certainty::guess);  // a rank may be out of sight
  evidence.finished = {Rank{0}, Rank{1}};
  evidence.all_finished = true;
  CHECK(diagnosed(evidence).failure.cause == "command-failed");
  CHECK(diagnosed(evidence).failure.certainty == Certainty::confirmed);
}

TEST_CASE("a launcher that a signal kills is no rank that ended", "[diagnosis]") {
  Evidence evidence;
  evidence.failure.kind = FailureKind::failed;
  evidence.command = Signaled{SIGKILL};
  evidence.oom_kills = 0;
  CHECK(diagnosed(evidence).failure.cause == "command-killed");
}

TEST_CASE("ranks that were started again and cannot meet failed by what ended their first life",
          "[diagnosis]") {
  const std::string refused =
      "Gloo connectFullMesh failed with gloo/transport/tcp/pair.cc:152 timed out connecting: "
      "SO_ERROR: Connection refused";
  Evidence evidence = with_exceptions({raised(0, "RuntimeError", refused)});
  CHECK(diagnosed(evidence).failure.cause == "gloo-connect");
  evidence.raised_before = {raised(1, "ValueError", "my own error"),
                            raised(0, "RuntimeError", "gloo/pair.cc: Connection closed by peer")};
  const diagnose::Diagnosis diagnosis = diagnosed(evidence);
  CHECK(diagnosis.failure.cause == "user-exception");
  CHECK(diagnosis.failure.first == Rank{1});
  CHECK(stops(diagnosis, StopReason::users_own));
  CHECK(diagnosis.failure.explanation.ends_with(
      "Its launcher started the ranks again, and they could not connect to each other."));

  SECTION("a life that ended for want of a peer alone tells nothing") {
    evidence.raised_before.erase(evidence.raised_before.begin());
    CHECK(diagnosed(evidence).failure.cause == "gloo-connect");
  }
  SECTION("a life that ended for want of a rank, by its own timeout, tells which") {
    evidence.raised_before = {raised(0, "RuntimeError", "gloo: Timed out waiting 8000ms for recv")};
    evidence.wait_before = Failure{.kind = FailureKind::stalled,
                                   .stage = Stage::collective,
                                   .missing = {{.rank = Rank{1}, .where = "train.py:12 load"}},
                                   .timed_out = true};
    const Failure failure = diagnosed(evidence).failure;
    CHECK(failure.cause == "training-stalled");
    CHECK(failure.headline == "rank 1 is behind");
    CHECK(failure.places == std::vector<std::string>{"train.py:12 in load"});
  }
  SECTION("what fails later than at the meeting is the last life's own") {
    evidence.failure.raised = {raised(0, "KeyError", "'labels'")};
    CHECK(diagnosed(evidence).failure.first == Rank{0});
  }
}
