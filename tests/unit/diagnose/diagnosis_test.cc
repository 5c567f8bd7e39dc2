// Attempts that failed.
#include <csignal>

#include "catch.h"
#include "evidence_of.h"
#include "safelaunch/base/format.h"

using namespace safelaunch;

using namespace safelaunch::diagnose;
using namespace safelaunch::testing;

TEST_CASE("nccl on a machine without it falls back under every launcher", "[diagnosis]") {
  for (const char* file : {"torchrun-nccl", "deepspeed-nccl", "accelerate-nccl", "spawn-nccl",
                           "torchrun-device-id", "chained"}) {
    INFO(file);
    const diagnose::Diagnosis d = diagnosed(of_file(file));
    CHECK(d.failure.cause == "nccl-not-built");
    CHECK(d.failure.certainty == Certainty::matched);
    CHECK(falls_back(d));
  }
}

TEST_CASE("an exception of the script's own stops the job under every launcher", "[diagnosis]") {
  for (const char* file :
       {"torchrun-zero-division", "torchrun-zero-division-early", "dataloader",
        "deepspeed-zero-division", "accelerate-zero-division", "spawn-zero-division"}) {
    INFO(file);
    const diagnose::Diagnosis d = diagnosed(of_file(file));
    CHECK(d.failure.cause == "user-exception");
    CHECK(stops(d, diagnose::StopReason::users_own));
  }
}

TEST_CASE("the first rank that failed is told from its victims", "[diagnosis]") {
  const diagnose::Diagnosis d = diagnosed(of_file("accelerate-zero-division"));
  CHECK(d.failure.first == Rank{1});
  CHECK(d.failure.victims == std::vector<Rank>{Rank{0}});
  CHECK(d.shown_by.at(0).line == "ZeroDivisionError: division by zero");
  CHECK(d.failure.explanation == "Rank 1 failed first (exit status 1); rank 0 only followed.");
}

TEST_CASE("the hook's exceptions decide, whoever ended first", "[diagnosis]") {
  diagnose::Evidence evidence =
      with_exceptions({raised(1, "KeyError", "'label'"), raised(0, "RuntimeError", kPeerLost)});
  evidence.failure.ended = {{Rank{0}, {}, Exited{1}}, {Rank{1}, {}, Exited{7}}};
  const diagnose::Diagnosis d = diagnosed(evidence);
  CHECK(d.failure.cause == "user-exception");
  CHECK(d.failure.first == Rank{1});
  CHECK(status(evidence) == 7);
}

TEST_CASE("a victim that reports first is not blamed", "[diagnosis]") {
  const diagnose::Diagnosis d = diagnosed(with_exceptions(
      {raised(0, "RuntimeError", kPeerLost), raised(1, "AssertionError", "batch is empty")}));
  CHECK(d.failure.cause == "user-exception");
  CHECK(d.failure.first == Rank{1});
}

TEST_CASE("a rank that raised by itself did not only follow another", "[diagnosis]") {
  diagnose::Evidence evidence =
      with_exceptions({raised(1, "ValueError", "bad"), raised(0, "ValueError", "bad")});
  evidence.failure.ended = {{Rank{1}, {}, Exited{1}}, {Rank{0}, {}, Exited{1}}};
  CHECK(diagnosed(evidence).failure.victims.empty());
  CHECK(diagnosed(evidence).failure.explanation.find("only followed") == std::string::npos);
}

TEST_CASE("every kind of the user's own exception stops", "[diagnosis]") {
  for (const char* type : {"ZeroDivisionError", "ImportError", "FileNotFoundError", "KeyError",
                           "AssertionError", "ValueError", "RuntimeError", "my.package.Oops"}) {
    INFO(type);
    CHECK(stops(diagnosed(with_exceptions({raised(0, type, "wrong")})),
                diagnose::StopReason::users_own));
  }
}

TEST_CASE("every exception of communication falls back", "[diagnosis]") {
  const std::vector<RankRaised> all = {
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
  for (const RankRaised& one : all) {
    INFO(one.message);
    CHECK(falls_back(diagnosed(with_exceptions({one}))));
  }
}

TEST_CASE("the hook's word makes an unknown error one of communication, unless the code is faulty",
          "[diagnosis]") {
  RankRaised unknown = raised(0, "RuntimeError", "something that nobody has met");
  unknown.communication = true;
  CHECK(diagnosed(with_exceptions({unknown})).failure.cause == "comm-error");
  unknown.type = "ValueError";
  CHECK(diagnosed(with_exceptions({unknown})).failure.cause == "user-exception");
}

TEST_CASE("an exception that arose from one of communication is one of communication",
          "[diagnosis]") {
  RankRaised one = raised(0, "RuntimeError", "could not set up training");
  one.traceback = data("launchers/chained.txt");
  CHECK(diagnosed(with_exceptions({one})).failure.cause == "nccl-not-built");
}

TEST_CASE("a source line of a traceback that quotes an error is no sign of it", "[diagnosis]") {
  RankRaised one = raised(0, "KeyError", "'x'");
  one.traceback =
      "Traceback (most recent call last):\n  File \"a.py\", line 1\n"
      "    raise RuntimeError(\"Distributed package doesn't have NCCL built in\")\nKeyError: 'x'\n";
  CHECK(diagnosed(with_exceptions({one})).failure.cause == "user-exception");
}

TEST_CASE("nothing is started again when a GPU has no memory left", "[diagnosis]") {
  CHECK(diagnosed(of_file("torchrun-oom")).failure.cause == "gpu-held");
  CHECK(stops(diagnosed(of_file("torchrun-oom")), diagnose::StopReason::hopeless));
  CHECK(
      diagnosed(with_exceptions({raised(0, "torch.OutOfMemoryError", "CUDA out of memory. Tried")}))
          .failure.cause == "gpu-oom");
}

TEST_CASE("memory that an earlier attempt still holds is waited for, twice", "[diagnosis]") {
  diagnose::Evidence evidence = of_file("torchrun-oom");
  evidence.former_pids = {4711};
  const diagnose::Diagnosis d = diagnosed(evidence);
  CHECK(d.failure.cause == "gpu-memory-draining");
  CHECK(d.failure.certainty == Certainty::confirmed);
  CHECK(d.decision == diagnose::Decision(diagnose::RetrySame{5s, With::nothing_new}));
  evidence.retries_of_profile = diagnose::kRetriesOfProfile;
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::retries_used_up));
}

TEST_CASE("a taken port of ours means another one, twice at most", "[diagnosis]") {
  diagnose::Evidence evidence = port_taken(diagnose::RendezvousPort::Choice::ours);
  CHECK(diagnosed(evidence).failure.cause == "port-taken");
  CHECK(diagnosed(evidence).decision ==
        diagnose::Decision(diagnose::RetrySame{1s, With::another_port}));
  evidence.retries_of_profile = diagnose::kRetriesOfProfile;
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::retries_used_up));
}

TEST_CASE("a taken port that the user named stops", "[diagnosis]") {
  CHECK(stops(diagnosed(port_taken(diagnose::RendezvousPort::Choice::users)),
              diagnose::StopReason::port_of_user));
}

TEST_CASE("a port that some other server of the script wants is its own fault", "[diagnosis]") {
  diagnose::Evidence evidence =
      with_exceptions({raised(0, "OSError", "[Errno 98] Address already in use")});
  evidence.failure.stage = Stage::rendezvous;
  evidence.port = diagnose::RendezvousPort{29500, diagnose::RendezvousPort::Choice::ours};
  CHECK(diagnosed(evidence).failure.cause == "own-port-taken");
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::hopeless));
}

TEST_CASE("a taken port that the script named by itself is not for us to change", "[diagnosis]") {
  diagnose::Evidence evidence = port_taken(diagnose::RendezvousPort::Choice::ours);
  evidence.port->number = 29500;
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::port_of_user));
}

TEST_CASE("the taken port is read from the words of each launcher, each once", "[diagnosis]") {
  const auto ports = [](const std::string& lines) {
    return diagnose::ports_said_taken(only_text(lines), diagnose::Catalogue::builtin());
  };
  using Ports = std::vector<int>;
  CHECK(ports("Address already in use, port: 29500, useIpv6: false, code: -98\n") == Ports{29500});
  CHECK(ports("failed to bind to [::]:29501 (errno: 98 - Address already in use)\n"
              "failed to bind to 0.0.0.0:29501 (errno: 98 - Address already in use)\n") ==
        Ports{29501});
  CHECK(ports("communication on port `29502`, but another process is utilizing it.\n") ==
        Ports{29502});
  CHECK(ports("Port `29503` is already in use.\n") == Ports{29503});
  CHECK(ports("Address already in use\n") == Ports{});
  CHECK(ports("port: 29504\n") == Ports{});
}

TEST_CASE("a rank that ends by itself is not started again, and keeps its status", "[diagnosis]") {
  for (const ExitStatus how : {ExitStatus(Exited{3}), ExitStatus(Signaled{SIGKILL})}) {
    diagnose::Evidence evidence = with_exceptions({raised(0, "RuntimeError", kPeerLost)});
    evidence.oom_kills = 0;
    evidence.failure.ended = {{Rank{3}, {}, how}, {Rank{0}, {}, Exited{1}}};
    const diagnose::Diagnosis d = diagnosed(evidence);
    CHECK(d.failure.cause == "rank-died");
    CHECK(d.failure.certainty == Certainty::confirmed);
    CHECK(d.failure.first == Rank{3});
    CHECK(d.failure.victims == std::vector<Rank>{Rank{0}});
    CHECK(stops(d, diagnose::StopReason::users_own));
    CHECK(status(evidence) == shell_code(how));
  }
}

TEST_CASE("a rank that leaves with status 1 and no word is the first, not those it leaves behind",
          "[diagnosis]") {
  diagnose::Evidence evidence = of_file("torchrun-exit3");
  evidence.output.push_back({"rank-0.err", Rank{0}, "RuntimeError: " + kPeerLost + "\n"});
  evidence.failure.ended = {{Rank{1}, {}, Exited{1}}};
  CHECK(diagnosed(evidence).failure.cause == "rank-died");
  CHECK(diagnosed(evidence).failure.first == Rank{1});
}

TEST_CASE("a rank whose status the kernel does not tell is still the first to have ended",
          "[diagnosis]") {
  diagnose::Evidence evidence = with_exceptions({raised(0, "RuntimeError", kPeerLost)});
  evidence.failure.ended = {{Rank{3}, {}, std::nullopt}};
  CHECK(diagnosed(evidence).failure.cause == "rank-died");
  CHECK(diagnosed(evidence).failure.first == Rank{3});
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::users_own));
}

TEST_CASE("a warning is no reason where there is another", "[diagnosis]") {
  const std::string warnings =
      "[W socket.cpp:464] [c10d] The IPv6 network addresses of (node-1, 29500) cannot be retrieved "
      "(gai error: -2 - Name or service not known).\n"
      "a.py:7: UserWarning: CUDA initialization: The NVIDIA driver on your system is too old\n";
  diagnose::Evidence evidence = only_text(warnings + data("launchers/torchrun-zero-division.txt"));
  CHECK(diagnosed(evidence).failure.cause == "user-exception");
  evidence = hang(Stage::group, {{Rank{2}, Activity::idling, "", ""}});
  evidence.output = {{"stderr", std::nullopt, warnings}};
  CHECK(diagnosed(evidence).failure.cause == "rank-missing");
  evidence.failure.missing.clear();
  CHECK(diagnosed(evidence).failure.cause == "name-resolution");
  CHECK(diagnosed(evidence).failure.certainty == Certainty::guess);
}

TEST_CASE("a refused loopback connection says nothing of names where all ranks are on one node",
          "[diagnosis]") {
  diagnose::Evidence evidence = only_text(
      "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:144] no error, "
      "SO_ERROR: Connection refused, remote=[127.0.0.1]:5123\n");
  CHECK(diagnosed(evidence).failure.cause != "name-resolution");
  evidence.nodes = 2;
  CHECK(diagnosed(evidence).failure.cause == "name-resolution");
}

TEST_CASE("a DataLoader worker that was killed is told from a rank", "[diagnosis]") {
  for (const char* signal : {"Killed", "Segmentation fault"}) {
    const diagnose::Diagnosis d = diagnosed(with_exceptions(
        {raised(0, "RuntimeError",
                fmt::format("DataLoader worker (pid 7) is killed by signal: {}.", signal))}));
    CHECK(d.failure.cause == "data-loader-died");
  }
}

TEST_CASE("a DataLoader worker that died is told before the pipe to it that broke", "[diagnosis]") {
  const diagnose::Evidence evidence = only_text(
      "[rank1]: ConnectionResetError: [Errno 104] Connection reset by peer\n"
      "[rank1]: RuntimeError: DataLoader worker (pid(s) 7) exited unexpectedly\n");
  CHECK(diagnosed(evidence).failure.cause == "data-loader-died");
}

TEST_CASE("the status that torchrun hides is read off its words", "[diagnosis]") {
  CHECK(diagnosed(of_file("torchrun-exit3")).failure.cause == "rank-died");
  CHECK(status(of_file("torchrun-exit3")) == 3);
  CHECK(status(of_file("spawn-exit3")) == 3);
  diagnose::Evidence killed = of_file("torchrun-peer-sigkill");
  killed.oom_kills = 0;
  CHECK(status(killed) == 137);
  CHECK(diagnosed(killed).failure.cause == "rank-died");
  CHECK(diagnosed(killed).failure.first == Rank{1});
}

TEST_CASE("a kill that the kernel counted as out of memory is confirmed as such", "[diagnosis]") {
  diagnose::Evidence evidence = with_exceptions({});
  evidence.failure.ended = {{Rank{2}, {}, Signaled{SIGKILL}}};
  evidence.oom_kills = 1;
  CHECK(diagnosed(evidence).failure.cause == "host-oom");
  CHECK(diagnosed(evidence).failure.certainty == Certainty::confirmed);
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::hopeless));
  evidence.oom_kills = std::nullopt;
  CHECK(diagnosed(evidence).failure.certainty == Certainty::guess);
}

TEST_CASE("an exception whose message begins with an empty line is quoted with its first words",
          "[diagnosis]") {
  const auto shown = [](std::string message) {
    RankRaised one = raised(1, "RuntimeError", std::move(message));
    one.traceback = "Traceback (most recent call last):\nRuntimeError: \n";
    const diagnose::Diagnosis d = diagnosed(with_exceptions({one}));
    return d.failure.cause + ": " + d.shown_by.front().line;
  };
  CHECK(shown("\n        An attempt has been made to start a new process before the\n") ==
        "no-main-guard: RuntimeError: An attempt has been made to start a new process before the");
  CHECK(shown("\n  no such column\n") == "user-exception: RuntimeError: no such column");
}

TEST_CASE("a bus error is a full /dev/shm, as a guess", "[diagnosis]") {
  diagnose::Evidence evidence = with_exceptions({});
  evidence.failure.ended = {{Rank{0}, {}, Signaled{SIGBUS}}};
  CHECK(diagnosed(evidence).failure.cause == "shm-small");
  CHECK(diagnosed(evidence).failure.certainty == Certainty::guess);
  CHECK(falls_back(diagnosed(evidence)));
}

namespace {

diagnose::Evidence crashed_in_communicator(const MissingRank& rank) {
  diagnose::Evidence evidence;
  evidence.failure.kind = FailureKind::rank_died;
  evidence.failure.stage = Stage::communicator;
  evidence.failure.missing = {rank};
  evidence.failure.ended = {{rank.rank, {}, Signaled{SIGSEGV}}};
  return evidence;
}

}  // namespace

TEST_CASE("a crash inside NCCL's init is not the script's own", "[diagnosis]") {
  const auto crash = diagnosed(crashed_in_communicator({Rank{1}, Activity::dead, "", "", true}));
  CHECK(crash.failure.cause == "nccl-crash");
  CHECK(falls_back(crash));
  CHECK(crash.failure.explanation ==
        "Rank 1 failed first (killed by SIGSEGV) as it tried to connect for collectives.");
}

TEST_CASE("a rank that died in its first collective had connected", "[diagnosis]") {
  diagnose::Evidence evidence = crashed_in_communicator({Rank{1}, Activity::dead, "", "", true});
  evidence.failure.stage = Stage::collective;
  evidence.failure.ended = {{Rank{1}, {}, Signaled{SIGKILL}}};
  CHECK(diagnosed(evidence).failure.explanation ==
        "Rank 1 failed first (killed by SIGKILL) in its first collective.");
}

TEST_CASE("a rank that failed first on another node is named with its host", "[diagnosis]") {
  diagnose::Evidence evidence = crashed_in_communicator({Rank{1}, Activity::dead, "", "", true});
  evidence.hosts[Rank{1}] = "gpu-17";
  CHECK(diagnosed(evidence).failure.explanation ==
        "Rank 1 on gpu-17 failed first (killed by SIGSEGV) as it tried to connect for "
        "collectives.");
}

TEST_CASE("a crash of a rank that was not seen to enter NCCL is its own", "[diagnosis]") {
  const auto crash = diagnosed(crashed_in_communicator({Rank{1}, Activity::dead, "", "", false}));
  CHECK(crash.failure.cause == "rank-crashed");
  CHECK(crash.failure.certainty == Certainty::confirmed);
  CHECK(stops(crash, diagnose::StopReason::users_own));
  CHECK(crash.failure.explanation ==
        "Rank 1 failed first (killed by SIGSEGV) before it could connect for collectives.");
}

TEST_CASE("what NCCL wrote before it crashed tells more than the crash", "[diagnosis]") {
  diagnose::Evidence evidence = crashed_in_communicator({Rank{1}, Activity::dead, "", "", true});
  evidence.output = {
      {"nccl.node.70", Rank{0},
       "node:70:80 [0] NCCL WARN Error while creating shared memory segment "
       "/dev/shm/nccl-PYOXTa (size 9637888), error: No space left on device (28)\n"}};
  CHECK(diagnosed(evidence).failure.cause == "shm-small");
}

TEST_CASE("facts of the host make a cause certain, or a more specific one", "[diagnosis]") {
  diagnose::Evidence evidence = only_text(
      "vm:1:1 [0] misc/shmutils.cc:88 NCCL WARN Error: failed to extend /dev/shm/nccl-a to 9637892 "
      "bytes, error: No space left on device (28)\n");
  CHECK(diagnosed(evidence).failure.certainty == Certainty::matched);
  evidence.confirmations = {{"shm-small", "/dev/shm has 64 MiB"}};
  CHECK(diagnosed(evidence).failure.certainty == Certainty::confirmed);
  evidence.confirmations = {{"shm-leaked", "40 segments of dead processes"}};
  CHECK(diagnosed(evidence).failure.cause == "shm-leaked");
  evidence.confirmations = {{"port-taken", "beside the point"}};
  CHECK(diagnosed(evidence).failure.cause == "shm-small");
}

TEST_CASE("once training has begun, nothing is started again", "[diagnosis]") {
  diagnose::Evidence evidence = of_file("torchrun-nccl");
  evidence.training = diagnose::Training::begun;
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::training_begun));
}

// ssh, docker, a framework that never comes to torch: it may have trained for hours.
TEST_CASE("a job of which no rank was seen is not started again", "[diagnosis]") {
  diagnose::Evidence evidence = of_file("torchrun-nccl");
  evidence.training = diagnose::Training::unseen;
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::training_unseen));
}

TEST_CASE("an exception that the script has caught ended nothing: the hang counts", "[diagnosis]") {
  diagnose::Evidence evidence;
  evidence.failure.kind = FailureKind::hung;
  evidence.failure.stage = Stage::group;
  evidence.failure.missing = {{.rank = Rank{1}}};
  evidence.failure.raised = {{Rank{0}, {}, "DistStoreError", "timed out", "", true}};
  CHECK(status(evidence) == 124);
  evidence.failure.raised.front().traceback = "Traceback";
  CHECK(status(evidence) == 1);
  evidence.failure.raised.front().traceback = "";
  evidence.failure.ended = {{Rank{0}, {}, Exited{7}}};
  CHECK(status(evidence) == 7);
}

TEST_CASE("after a signal to safelaunch, or in an autotuner, nothing is started again",
          "[diagnosis]") {
  diagnose::Evidence evidence = of_file("torchrun-nccl");
  evidence.autotuning = true;
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::autotuning));
  evidence.signal = SIGTERM;
  evidence.command = std::nullopt;
  CHECK(stops(diagnosed(evidence), diagnose::StopReason::signalled));
  CHECK(status(evidence) == 143);
}

// A database, a simulator, a pipe: none of them is the job's own communication.
TEST_CASE("a broken connection of the script's own is its own failure", "[diagnosis]") {
  const std::vector<std::pair<const char*, const char*>> exceptions{
      {"ConnectionRefusedError", "[Errno 111] Connection refused"},
      {"redis.exceptions.ConnectionError", "Error 111 connecting to db:6379. Connection refused."},
      {"BrokenPipeError", "[Errno 32] Broken pipe"},
      {"ConnectionResetError", "[Errno 104] Connection reset by peer"},
      {"socket.gaierror", "[Errno -2] Name or service not known"},
      {"zmq.error.ZMQError", "Address already in use (addr='tcp://127.0.0.1:5555')"},
      {"RuntimeError", "Socket Timeout while waiting for the simulator"}};
  for (const auto& [type, message] : exceptions) {
    const std::string last = std::string(type) + ": " + message + "\n";
    const std::string traceback = "Traceback (most recent call last):\n  File \"t.py\"\n" + last;
    diagnose::Evidence evidence;
    evidence.failure.kind = FailureKind::raised;
    evidence.failure.raised = {{Rank{0}, {}, type, message, traceback, false}};
    evidence.failure.ended = {{Rank{0}, {}, Exited{1}}};
    evidence.output = {{"rank-0.err", Rank{0}, traceback}};
    INFO(last);
    const diagnose::Diagnosis d = diagnosed(evidence);
    CHECK(std::holds_alternative<diagnose::Stop>(d.decision));
    CHECK((d.failure.cause == "user-exception" || d.failure.cause == "own-port-taken"));
    evidence.failure.raised.front().communication = true;  // torch has raised it
    CHECK(diagnosed(evidence).failure.cause != "user-exception");
  }
}
