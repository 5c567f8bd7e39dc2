#include "safelaunch/diagnose/diagnosis.h"

#include <csignal>

#include "catch.h"
#include "test_data.h"

using namespace safelaunch;
using namespace std::chrono_literals;
using safelaunch::testing::data;

namespace {

using With = RetrySame::With;

Diagnosis diagnosed(const Evidence& evidence) {
  return diagnose(evidence, Catalogue::builtin());
}

int status(const Evidence& evidence) {
  return exit_status_of(evidence, diagnosed(evidence));
}

bool falls_back(const Diagnosis& diagnosis) {
  return diagnosis.decision == Decision(FallBack{});
}

bool stops(const Diagnosis& diagnosis, StopReason reason) {
  return diagnosis.decision == Decision(Stop{reason});
}

/// A job under a launcher without a hook: its output is all there is.
Evidence only_text(std::string text) {
  Evidence evidence;
  evidence.command = Exited{1};
  evidence.output = {{"stderr", std::nullopt, std::move(text)}};
  return evidence;
}

Evidence of_file(const std::string& name) {
  return only_text(data("launchers/" + name + ".txt"));
}

Exception raised(int rank, std::string type, std::string message) {
  return {Rank{rank}, std::move(type), std::move(message), "", false};
}

Evidence with_exceptions(std::vector<Exception> exceptions) {
  Evidence evidence;
  evidence.outcome = Outcome::rank_died;
  evidence.stage = Stage::group;
  evidence.exceptions = std::move(exceptions);
  return evidence;
}

Evidence hang(Stage stage, std::vector<MissingRank> missing) {
  Evidence evidence;
  evidence.outcome = Outcome::hung;
  evidence.stage = stage;
  evidence.waited = 180s;
  evidence.waiting = {Rank{0}, Rank{1}, Rank{3}};
  evidence.missing = std::move(missing);
  return evidence;
}

Evidence port_taken(RendezvousPort::Choice choice) {
  Evidence evidence = of_file("python-port-taken");
  evidence.port = RendezvousPort{29741, choice};
  return evidence;
}

const std::string kPeerLost =
    "[gloo/transport/tcp/pair.cc:537] Read error [127.0.0.1]:39613: Connection reset by peer. "
    "GLHF!";

}  // namespace

TEST_CASE("nccl on a machine without it falls back under every launcher", "[diagnosis]") {
  for (const char* file : {"torchrun-nccl", "deepspeed-nccl", "accelerate-nccl", "spawn-nccl",
                           "torchrun-device-id", "chained"}) {
    INFO(file);
    const Diagnosis d = diagnosed(of_file(file));
    CHECK(d.cause == "nccl-not-built");
    CHECK(d.certainty == Certainty::matched);
    CHECK(falls_back(d));
  }
}

TEST_CASE("an exception of the script's own stops the job under every launcher", "[diagnosis]") {
  for (const char* file :
       {"torchrun-zero-division", "torchrun-zero-division-early", "dataloader",
        "deepspeed-zero-division", "accelerate-zero-division", "spawn-zero-division"}) {
    INFO(file);
    const Diagnosis d = diagnosed(of_file(file));
    CHECK(d.cause == "user-exception");
    CHECK(stops(d, StopReason::users_own));
  }
}

TEST_CASE("the first rank that failed is told from its victims", "[diagnosis]") {
  const Diagnosis d = diagnosed(of_file("accelerate-zero-division"));
  CHECK(d.first_failed == Rank{1});
  CHECK(d.victims == std::vector<Rank>{Rank{0}});
  CHECK(d.shown_by.at(0).line == "ZeroDivisionError: division by zero");
  CHECK(d.explanation == "Rank 1 failed first (exit status 1); rank 0 only followed.");
}

TEST_CASE("the hook's exceptions decide, whoever ended first", "[diagnosis]") {
  Evidence evidence =
      with_exceptions({raised(1, "KeyError", "'label'"), raised(0, "RuntimeError", kPeerLost)});
  evidence.ended = {{Rank{0}, Exited{1}}, {Rank{1}, Exited{7}}};
  const Diagnosis d = diagnosed(evidence);
  CHECK(d.cause == "user-exception");
  CHECK(d.first_failed == Rank{1});
  CHECK(status(evidence) == 7);
}

TEST_CASE("a victim that reports first is not blamed", "[diagnosis]") {
  const Diagnosis d = diagnosed(with_exceptions(
      {raised(0, "RuntimeError", kPeerLost), raised(1, "AssertionError", "batch is empty")}));
  CHECK(d.cause == "user-exception");
  CHECK(d.first_failed == Rank{1});
}

TEST_CASE("every kind of the user's own exception stops", "[diagnosis]") {
  for (const char* type : {"ZeroDivisionError", "ImportError", "FileNotFoundError", "KeyError",
                           "AssertionError", "ValueError", "RuntimeError", "my.package.Oops"}) {
    INFO(type);
    CHECK(stops(diagnosed(with_exceptions({raised(0, type, "wrong")})), StopReason::users_own));
  }
}

TEST_CASE("every exception of communication falls back", "[diagnosis]") {
  const std::vector<Exception> all = {
      raised(0, "torch.distributed.DistStoreError",
             "wait timeout after 5000ms, keys: /default_pg/0//cpu//0/1"),
      raised(0, "torch.distributed.DistStoreError",
             "Timed out after 6 seconds waiting for clients. 1/2 clients joined."),
      raised(0, "torch.distributed.DistNetworkError",
             "The client socket has timed out after 5000ms while trying to connect to (127.0.0.1, "
             "42899)."),
      raised(0, "torch.distributed.DistBackendError",
             "NCCL error in: ProcessGroupNCCL.cpp:94, unhandled system error"),
      raised(0, "torch.distributed.DistBackendError", "something that nobody has met"),
      raised(0, "RuntimeError",
             "[gloo/transport/tcp/unbound_buffer.cc:78] Timed out waiting 5000ms for recv "
             "operation to complete"),
      raised(0, "RuntimeError", "Distributed package doesn't have NCCL built in"),
      raised(
          0, "ValueError",
          "device_id cuda:0 does not match the current compilation's accelerator support: None."),
      raised(0, "RuntimeError", kPeerLost)};
  for (const Exception& one : all) {
    INFO(one.message);
    CHECK(falls_back(diagnosed(with_exceptions({one}))));
  }
}

TEST_CASE("the hook's word makes an unknown error one of communication, unless the code is faulty",
          "[diagnosis]") {
  Exception unknown = raised(0, "RuntimeError", "something that nobody has met");
  unknown.communication = true;
  CHECK(diagnosed(with_exceptions({unknown})).cause == "comm-error");
  unknown.type = "ValueError";
  CHECK(diagnosed(with_exceptions({unknown})).cause == "user-exception");
}

TEST_CASE("an exception that arose from one of communication is one of communication",
          "[diagnosis]") {
  Exception one = raised(0, "RuntimeError", "could not set up training");
  one.traceback = data("launchers/chained.txt");
  CHECK(diagnosed(with_exceptions({one})).cause == "nccl-not-built");
}

TEST_CASE("a source line of a traceback that quotes an error is no sign of it", "[diagnosis]") {
  Exception one = raised(0, "KeyError", "'x'");
  one.traceback =
      "Traceback (most recent call last):\n  File \"a.py\", line 1\n"
      "    raise RuntimeError(\"Distributed package doesn't have NCCL built in\")\nKeyError: 'x'\n";
  CHECK(diagnosed(with_exceptions({one})).cause == "user-exception");
}

TEST_CASE("nothing is started again when a GPU has no memory left", "[diagnosis]") {
  CHECK(diagnosed(of_file("torchrun-oom")).cause == "gpu-held");
  CHECK(stops(diagnosed(of_file("torchrun-oom")), StopReason::hopeless));
  CHECK(
      diagnosed(with_exceptions({raised(0, "torch.OutOfMemoryError", "CUDA out of memory. Tried")}))
          .cause == "gpu-oom");
}

TEST_CASE("memory that an earlier attempt still holds is waited for, twice", "[diagnosis]") {
  Evidence evidence = of_file("torchrun-oom");
  evidence.former_pids = {4711};
  const Diagnosis d = diagnosed(evidence);
  CHECK(d.cause == "gpu-memory-draining");
  CHECK(d.certainty == Certainty::confirmed);
  CHECK(d.decision == Decision(RetrySame{5s, With::nothing_new}));
  evidence.retries_of_profile = kRetriesOfProfile;
  CHECK(stops(diagnosed(evidence), StopReason::retries_used_up));
}

TEST_CASE("a taken port of ours means another one, twice at most", "[diagnosis]") {
  Evidence evidence = port_taken(RendezvousPort::Choice::ours);
  CHECK(diagnosed(evidence).cause == "port-taken");
  CHECK(diagnosed(evidence).decision == Decision(RetrySame{1s, With::another_port}));
  evidence.retries_of_profile = kRetriesOfProfile;
  CHECK(stops(diagnosed(evidence), StopReason::retries_used_up));
}

TEST_CASE("a taken port that the user named stops", "[diagnosis]") {
  CHECK(stops(diagnosed(port_taken(RendezvousPort::Choice::users)), StopReason::port_of_user));
}

TEST_CASE("a port that some other server of the script wants is its own fault", "[diagnosis]") {
  Evidence evidence = with_exceptions({raised(0, "OSError", "[Errno 98] Address already in use")});
  evidence.stage = Stage::rendezvous;
  evidence.port = RendezvousPort{29500, RendezvousPort::Choice::ours};
  CHECK(diagnosed(evidence).cause == "own-port-taken");
  CHECK(stops(diagnosed(evidence), StopReason::hopeless));
}

TEST_CASE("a taken port that the script named by itself is not for us to change", "[diagnosis]") {
  Evidence evidence = port_taken(RendezvousPort::Choice::ours);
  evidence.port->number = 29500;
  CHECK(stops(diagnosed(evidence), StopReason::port_of_user));
}

TEST_CASE("a rank that ends by itself is not started again, and keeps its status", "[diagnosis]") {
  for (const ExitStatus how : {ExitStatus(Exited{3}), ExitStatus(Signaled{SIGKILL})}) {
    Evidence evidence = with_exceptions({raised(0, "RuntimeError", kPeerLost)});
    evidence.oom_kills = 0;
    evidence.ended = {{Rank{3}, how}, {Rank{0}, Exited{1}}};
    const Diagnosis d = diagnosed(evidence);
    CHECK(d.cause == "rank-died");
    CHECK(d.certainty == Certainty::confirmed);
    CHECK(d.first_failed == Rank{3});
    CHECK(d.victims == std::vector<Rank>{Rank{0}});
    CHECK(stops(d, StopReason::users_own));
    CHECK(status(evidence) == shell_code(how));
  }
}

TEST_CASE("a rank that leaves with status 1 and no word is the first, not those it leaves behind",
          "[diagnosis]") {
  Evidence evidence = of_file("torchrun-exit3");
  evidence.output.push_back({"rank-0.err", Rank{0}, "RuntimeError: " + kPeerLost + "\n"});
  evidence.ended = {{Rank{1}, Exited{1}}};
  CHECK(diagnosed(evidence).cause == "rank-died");
  CHECK(diagnosed(evidence).first_failed == Rank{1});
}

TEST_CASE("a rank whose status the kernel does not tell is still the first to have ended",
          "[diagnosis]") {
  Evidence evidence = with_exceptions({raised(0, "RuntimeError", kPeerLost)});
  evidence.ended = {{Rank{3}, std::nullopt}};
  CHECK(diagnosed(evidence).cause == "rank-died");
  CHECK(diagnosed(evidence).first_failed == Rank{3});
  CHECK(stops(diagnosed(evidence), StopReason::users_own));
}

TEST_CASE("a rank that stays away from NCCL does so under any profile", "[diagnosis]") {
  Evidence evidence = hang(Stage::communicator, {{Rank{2}, Activity::idling, "sleeping", ""}});
  evidence.remarks = {"rank 2 of 3 never came to NCCL"};

  const Diagnosis d = diagnosed(evidence);

  CHECK(d.cause == "rank-missing");
  CHECK(stops(d, StopReason::stays_away));
  CHECK(exit_status_of(evidence, d) == 124);
  CHECK(d.explanation.ends_with(" Rank 2 of 3 never came to NCCL."));
}

TEST_CASE("a warning is no reason where there is another", "[diagnosis]") {
  const std::string warnings =
      "[W socket.cpp:464] [c10d] The IPv6 network addresses of (node-1, 29500) cannot be retrieved "
      "(gai error: -2 - Name or service not known).\n"
      "a.py:7: UserWarning: CUDA initialization: The NVIDIA driver on your system is too old\n";
  Evidence evidence = only_text(warnings + data("launchers/torchrun-zero-division.txt"));
  CHECK(diagnosed(evidence).cause == "user-exception");
  evidence = hang(Stage::group, {{Rank{2}, Activity::idling, "", ""}});
  evidence.output = {{"stderr", std::nullopt, warnings}};
  CHECK(diagnosed(evidence).cause == "rank-missing");
  evidence.missing.clear();
  CHECK(diagnosed(evidence).cause == "name-resolution");
  CHECK(diagnosed(evidence).certainty == Certainty::guess);
}

TEST_CASE("a DataLoader worker that the kernel killed is told from a rank", "[diagnosis]") {
  const Diagnosis d = diagnosed(with_exceptions(
      {raised(0, "RuntimeError", "DataLoader worker (pid 7) is killed by signal: Killed.")}));
  CHECK(d.cause == "host-oom");
}

TEST_CASE("the status that torchrun hides is read off its words", "[diagnosis]") {
  CHECK(diagnosed(of_file("torchrun-exit3")).cause == "rank-died");
  CHECK(status(of_file("torchrun-exit3")) == 3);
  CHECK(status(of_file("spawn-exit3")) == 3);
  Evidence killed = of_file("torchrun-peer-sigkill");
  killed.oom_kills = 0;
  CHECK(status(killed) == 137);
  CHECK(diagnosed(killed).cause == "rank-died");
  CHECK(diagnosed(killed).first_failed == Rank{1});
}

TEST_CASE("a kill that the kernel counted as out of memory is confirmed as such", "[diagnosis]") {
  Evidence evidence = with_exceptions({});
  evidence.ended = {{Rank{2}, Signaled{SIGKILL}}};
  evidence.oom_kills = 1;
  CHECK(diagnosed(evidence).cause == "host-oom");
  CHECK(diagnosed(evidence).certainty == Certainty::confirmed);
  CHECK(stops(diagnosed(evidence), StopReason::hopeless));
  evidence.oom_kills = std::nullopt;
  CHECK(diagnosed(evidence).certainty == Certainty::guess);
}

TEST_CASE("a bus error is a full /dev/shm, as a guess", "[diagnosis]") {
  Evidence evidence = with_exceptions({});
  evidence.ended = {{Rank{0}, Signaled{SIGBUS}}};
  CHECK(diagnosed(evidence).cause == "shm-small");
  CHECK(diagnosed(evidence).certainty == Certainty::guess);
  CHECK(falls_back(diagnosed(evidence)));
}

TEST_CASE("facts of the host make a cause certain, or a more specific one", "[diagnosis]") {
  Evidence evidence = only_text(
      "vm:1:1 [0] misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-a to 9637892 "
      "bytes, error: No space left on device (28)\n");
  CHECK(diagnosed(evidence).certainty == Certainty::matched);
  evidence.confirmations = {{"shm-small", "/dev/shm has 64 MiB"}};
  CHECK(diagnosed(evidence).certainty == Certainty::confirmed);
  evidence.confirmations = {{"shm-leaked", "40 segments of dead processes"}};
  CHECK(diagnosed(evidence).cause == "shm-leaked");
  evidence.confirmations = {{"port-taken", "beside the point"}};
  CHECK(diagnosed(evidence).cause == "shm-small");
}

TEST_CASE("a rank that never comes is named with what it does", "[diagnosis]") {
  const Evidence evidence = hang(
      Stage::rendezvous,
      {{Rank{2}, Activity::idling, "sleeping in hrtimer_nanosleep", "load_data (train.py:12)"}});
  const Diagnosis d = diagnosed(evidence);
  CHECK(d.cause == "rank-missing");
  CHECK(d.certainty == Certainty::confirmed);
  CHECK(falls_back(d));
  CHECK(
      d.explanation ==
      "Ranks 0, 1 and 3 waited 180s in stage rendezvous; rank 2 was missing: idling, sleeping in "
      "hrtimer_nanosleep, in load_data (train.py:12). Its own code keeps it away, which a profile "
      "can hardly change.");
  CHECK(status(evidence) == 124);
}

TEST_CASE("a rank that sticks among the others is not called missing", "[diagnosis]") {
  Evidence evidence = hang(Stage::collective, {{.rank = Rank{2},
                                                .activity = Activity::stopped,
                                                .doing = "by a signal (state T)",
                                                .where = {},
                                                .inside = true}});
  evidence.waited = std::chrono::milliseconds(1902);
  CHECK(
      diagnosed(evidence).explanation ==
      "Ranks 0, 1 and 3 waited 1.9s in stage collective; rank 2 did not come through: stopped, by "
      "a signal (state T). Somebody stopped it, which a profile can hardly change.");
}

TEST_CASE("what is known of nobody is a guess", "[diagnosis]") {
  CHECK(diagnosed(hang(Stage::group, {{Rank{2}, Activity::unseen, "", ""}})).certainty ==
        Certainty::guess);
}

TEST_CASE("a stopped rank is named at once as stopped", "[diagnosis]") {
  const Diagnosis d = diagnosed(hang(Stage::collective, {{Rank{1}, Activity::stopped, "", ""}}));
  CHECK(d.cause == "rank-stopped");
  CHECK(d.certainty == Certainty::confirmed);
  CHECK(falls_back(d));
}

TEST_CASE("the function of a missing rank may tell why it is missing", "[diagnosis]") {
  const Diagnosis d = diagnosed(hang(
      Stage::group, {{Rank{2}, Activity::idling, "a timed sleep", "wait (file_baton.py:49)"}}));
  CHECK(d.cause == "extension-lock");
}

TEST_CASE("the last words of a missing rank may tell why it is missing", "[diagnosis]") {
  Evidence evidence = hang(Stage::group, {{Rank{2}, Activity::quiet, "", ""}});
  evidence.output = {{"rank-2.err", Rank{2}, "hello\nwandb: Enter your choice:\n"}};
  CHECK(diagnosed(evidence).cause == "waiting-for-human");
  evidence.output = {{"rank-2.err", Rank{2}, "wandb: Enter your choice:\n1\n2\n3\n4\n"}};
  CHECK(diagnosed(evidence).cause == "rank-missing");
  evidence.output = {{"rank-0.err", Rank{0}, "wandb: Enter your choice:\n"}};
  CHECK(diagnosed(evidence).cause == "rank-missing");
}

TEST_CASE("a hang in which all ranks came is guessed from the stage", "[diagnosis]") {
  CHECK(diagnosed(hang(Stage::imported, {})).cause == "start-stuck");
  CHECK(diagnosed(hang(Stage::rendezvous, {})).cause == "store-silent");
  CHECK(diagnosed(hang(Stage::communicator, {})).cause == "init-stuck");
  CHECK(diagnosed(hang(Stage::collective, {})).cause == "collective-stuck");
}

TEST_CASE("NCCL's way between the ranks is a hint where its first collective hangs",
          "[diagnosis]") {
  Evidence evidence = hang(Stage::collective, {});
  evidence.output = {
      {"nccl", std::nullopt, "vm:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC\n"}};
  CHECK(diagnosed(evidence).cause == "gpu-p2p");
  CHECK(diagnosed(evidence).certainty == Certainty::guess);
  evidence.missing = {{Rank{2}, Activity::idling, "", ""}};
  CHECK(diagnosed(evidence).cause == "rank-missing");
}

TEST_CASE("a rank that left with status 0 while others wait is the script's own", "[diagnosis]") {
  const Diagnosis d =
      diagnosed(hang(Stage::group, {{Rank{2}, Activity::dead, "exit status 0", ""}}));
  CHECK(d.cause == "rank-died");
  CHECK(stops(d, StopReason::users_own));
  CHECK(d.explanation.find("rank 2 had ended (exit status 0)") != std::string::npos);
}

TEST_CASE("a hang whose cause NCCL writes down is matched", "[diagnosis]") {
  Evidence evidence = hang(Stage::group, {});
  evidence.output = {
      {"nccl", std::nullopt, testing::scenes("nccl/2.29.7.log").at("nranks-differ")}};
  const Diagnosis d = diagnosed(evidence);
  CHECK(d.cause == "world-size-mismatch");
  CHECK(stops(d, StopReason::hopeless));
}

TEST_CASE("an exception that a hanging job has caught and logged is not its cause", "[diagnosis]") {
  Evidence evidence = hang(Stage::group, {{Rank{2}, Activity::idling, "", ""}});
  evidence.output = {{"stderr", std::nullopt,
                      "Traceback (most recent call last):\n  File \"a.py\"\nKeyError: 1\n"}};
  CHECK(diagnosed(evidence).cause == "rank-missing");
  evidence.exceptions = {raised(2, "KeyError", "1")};
  CHECK(diagnosed(evidence).cause == "user-exception");
  CHECK(status(evidence) == 1);
}

TEST_CASE("a port that is taken after the rendezvous is not the cause", "[diagnosis]") {
  Evidence evidence = hang(Stage::collective, {});
  evidence.output = {{"stderr", std::nullopt, "tensorboard: Address already in use\n"}};
  CHECK(diagnosed(evidence).cause == "collective-stuck");
}

TEST_CASE("ranks that contradict each other are named at once", "[diagnosis]") {
  Evidence evidence;
  evidence.outcome = Outcome::mismatch;
  CHECK(diagnosed(evidence).cause == "world-size-mismatch");
  CHECK(stops(diagnosed(evidence), StopReason::hopeless));
  evidence.outcome = Outcome::duplicate;
  CHECK(diagnosed(evidence).cause == "duplicate-rank");
  CHECK(status(evidence) == 124);
}

TEST_CASE("once training has begun, nothing is started again", "[diagnosis]") {
  Evidence evidence = of_file("torchrun-nccl");
  evidence.training = Training::begun;
  CHECK(stops(diagnosed(evidence), StopReason::training_begun));
}

TEST_CASE("after a signal to safelaunch, or in an autotuner, nothing is started again",
          "[diagnosis]") {
  Evidence evidence = of_file("torchrun-nccl");
  evidence.autotuning = true;
  CHECK(stops(diagnosed(evidence), StopReason::autotuning));
  evidence.signal = SIGTERM;
  evidence.command = std::nullopt;
  CHECK(stops(diagnosed(evidence), StopReason::signalled));
  CHECK(status(evidence) == 143);
}

TEST_CASE("an attempt that failed never ends with status 0", "[diagnosis]") {
  Evidence evidence;
  evidence.outcome = Outcome::rank_died;
  evidence.ended = {{Rank{0}, Exited{0}}};
  CHECK(status(evidence) == 1);
  evidence.command = Exited{0};
  CHECK(status(evidence) == 1);
}

TEST_CASE("an opaque command that fails without a word keeps its status", "[diagnosis]") {
  Evidence evidence = only_text("");
  evidence.command = Exited{42};
  CHECK(diagnosed(evidence).cause == "rank-died");
  CHECK(diagnosed(evidence).explanation == "The command failed (exit status 42).");
  CHECK(status(evidence) == 42);
}

TEST_CASE("many ranks are told in runs", "[diagnosis]") {
  Evidence evidence = hang(Stage::group, {{Rank{7}, Activity::unseen, "", ""}});
  evidence.waiting = {Rank{0}, Rank{1}, Rank{2}, Rank{3}, Rank{5}, Rank{6}, Rank{8}};
  CHECK(diagnosed(evidence).explanation.starts_with("Ranks 0-3, 5, 6 and 8 waited 180s"));
}

TEST_CASE("who holds the port that the script chose is told", "[diagnosis]") {
  Evidence evidence = port_taken(RendezvousPort::Choice::ours);
  evidence.port->number = 29500;
  CHECK(ports_said_taken(evidence, Catalogue::builtin()) == std::vector<int>{29741});

  evidence.confirmations = {{"port-taken", "Port 29741 is held by pid 71 (nc) of user bob", 29741}};

  const Diagnosis diagnosis = diagnosed(evidence);
  CHECK(diagnosis.certainty == Certainty::confirmed);
  CHECK(diagnosis.explanation.ends_with(" Port 29741 is held by pid 71 (nc) of user bob."));
  CHECK(stops(diagnosis, StopReason::port_of_user));
}

TEST_CASE("ranks that wait for a program which is not their store blame that program",
          "[diagnosis]") {
  Evidence evidence = hang(Stage::group, {});
  evidence.port = RendezvousPort{29500, RendezvousPort::Choice::ours};
  CHECK(diagnosed(evidence).cause == "init-stuck");

  evidence.confirmations = {{"store-foreign", "Port 29500 is held by pid 71 (nc)", 29500}};
  CHECK(diagnosed(evidence).cause == "store-foreign");
  CHECK(diagnosed(evidence).decision == Decision(RetrySame{1s, With::another_port}));

  evidence.confirmations.front().port = 29741;
  CHECK(stops(diagnosed(evidence), StopReason::port_of_user));
}

TEST_CASE("a contradiction between ranks is told with what they say", "[diagnosis]") {
  Evidence evidence;
  evidence.outcome = Outcome::mismatch;
  evidence.confirmations = {{"world-size-mismatch", "rank 0 says 2, rank 1 says 3"}};
  CHECK(diagnosed(evidence).explanation ==
        "It would hang until torch's timeout: rank 0 says 2, rank 1 says 3.");
}
