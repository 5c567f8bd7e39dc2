#include "safelaunch/diagnose/explain.h"

#include "catch.h"
#include "launcher/diagnose/log_line.h"
#include "test_data.h"

using namespace safelaunch;

using namespace safelaunch::diagnose;
using safelaunch::testing::data;

namespace {

std::string first_cause(const std::string& log) {
  const auto found = read_log(log, Catalogue::builtin());
  return found.empty() ? "none" : found.front().cause->id;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a cause is explained with its remedy, its commands and its links", "[explain]") {
  const std::string text = explain(Catalogue::builtin().at("shm-small"));
  CHECK(text.starts_with("shm-small  F04\n/dev/shm is too small or full\n"));
  CHECK(has(text, "df -h /dev/shm"));
  CHECK(has(text, "https://github.com/NVIDIA/nccl/issues/290"));
  CHECK(has(text, "the next profile is tried"));
}

TEST_CASE("a log is explained with its cause first and the traceback last", "[explain]") {
  const std::string text =
      explain_log(data("launchers/torchrun-zero-division.txt"), Catalogue::builtin());
  CHECK(
      text.starts_with("the script raised an exception of its own (user-exception, rank 1)\n"
                       "  ZeroDivisionError: division by zero\n"));
  CHECK(text.find("victim: ") > text.find("ZeroDivisionError"));
  CHECK(text.ends_with("ZeroDivisionError: division by zero\n"));
}

TEST_CASE("a healthy log shows no cause", "[explain]") {
  CHECK(explain_log("epoch 1\nloss 0.5\n", Catalogue::builtin()) ==
        "No known cause shows in this log.\n");
  CHECK(explain_log("", Catalogue::builtin()) == "No known cause shows in this log.\n");
}

TEST_CASE("what looks like a failure on NCCL's INFO lines is none", "[explain]") {
  CHECK(first_cause("vm:1:1 [0] NCCL INFO Failed to initialize any NET plugin\n") == "none");
  CHECK(first_cause("vm:1:1 [0] a.cc:1 NCCL WARN Failed to initialize any NET plugin\n") ==
        "net-missing");
}

TEST_CASE("a cause stands before a victim that wrote first", "[explain]") {
  CHECK(
      first_cause("[rank0]: RuntimeError: [gloo/pair.cc:5] Connection closed by peer\n"
                  "vm:1:1 [0] a.cc:1 NCCL WARN Duplicate GPU detected : rank 0 and rank 1 both on "
                  "CUDA device 10000\n") == "duplicate-gpu");
}

TEST_CASE("a flood of ranks and causes stays small", "[explain]") {
  std::string flood;
  for (int rank = 0; rank < 50000; ++rank)
    flood += "[rank" + std::to_string(rank) + "]: RuntimeError: Connection reset by peer\n";
  CHECK(read_log(flood, Catalogue::builtin()).size() <= 64);
}

TEST_CASE("hostile logs are read to their end", "[explain]") {
  std::string noise;
  for (int i = 0; i < 200000; ++i) noise += static_cast<char>((i * 7919 + i / 251) % 256);
  CHECK_NOTHROW(explain_log(noise, Catalogue::builtin()));
  CHECK(first_cause(std::string(8 << 20, 'a')) == "none");
  CHECK(first_cause(std::string(1 << 20, '\n') + "CUDA error: invalid device ordinal\n") ==
        "device-ordinal");
  std::string nested;
  for (int i = 0; i < 20000; ++i) nested += "Traceback (most recent call last):\n  File \"a.py\"\n";
  CHECK(first_cause(nested + "KeyError: 1\n") == "user-exception");
  std::string begun;
  for (int i = 0; i < 2000; ++i) begun += "connect connect retrieving ncclUniqueId from [0] ";
  CHECK(first_cause(begun) == "none");
  CHECK(first_cause("x:1:1 [0] NCCL INFO comm 0x1 rank 0 nranks 2000000000 - Init START\n") ==
        "none");
}

TEST_CASE("the words of an error name its cause without the traceback", "[explain]") {
  const auto named = [](std::string_view words) {
    const Cause* cause = cause_named_by(words, Catalogue::builtin());
    return cause == nullptr ? "none" : cause->id;
  };
  CHECK(named("CUDA out of memory") == "gpu-oom");
  CHECK(named("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB") == "gpu-oom");
  CHECK(named("NCCL timeout") == "watchdog-timeout");
  CHECK(named("RuntimeError: Timed out initializing process group") == "store-timeout");
  CHECK(named("Address already in use") == "port-taken");
  CHECK(named("Signal 11 (SIGSEGV) received by PID 733") == "rank-crashed");
  CHECK(named("[c10d] The hostname of the client socket cannot be retrieved. err=-3") == "no-ipv6");
  CHECK(named("the cat sat on the mat") == "none");
  CHECK(named("hang") == "collective-stuck");
  CHECK(named("training is stuck") == "collective-stuck");
  CHECK(named("stuck at init") == "init-stuck");
  CHECK(named("the shape changed") == "none");
}

TEST_CASE("each kind of row is explained with what it means and what safelaunch does",
          "[explain]") {
  const auto explained = [](const char* id) { return explain(Catalogue::builtin().at(id)); };
  const std::string harmless = explained("ras-port-taken");
  CHECK(has(harmless, "This is harmless.\n"));
  CHECK_FALSE(has(harmless, "safelaunch does not try again"));
  CHECK(has(explained("comm-error"),
            "This shows that something failed; a cause may stand elsewhere.\n"));
  CHECK(has(explained("peer-lost"), "This reports that another rank has failed.\n"));
  CHECK(has(explained("host-oom"),
            "safelaunch does not try again: every profile would fail alike.\n"));
  CHECK(has(explained("port-taken"),
            "Before the first collective, the same profile is tried again.\n"));
}

TEST_CASE("a row of one's own, with nothing but what it needs, is explained in three lines",
          "[explain]") {
  Cause cause;
  cause.id = "ours";
  cause.title = "the fabric rests";
  cause.remedy = "Wait.";
  CHECK(explain(cause) ==
        "ours\nthe fabric rests\n\nWait.\nsafelaunch does not try again: every profile would fail "
        "alike.\n");
  cause.ref = "F99";
  cause.hints = {"a hint"};
  cause.absence = {"a last word"};
  cause.links = {"owner/repository#7", "owner/repository", "https://our.wiki/fabric#rest"};
  CHECK(explain(cause).ends_with(
      "\nA hang after a line with one of these is likely due to it:\n  a hint\n"
      "\nA rank is likely missing because of it after a line with one of these:\n  a last word\n"
      "\nReports of others:\n  https://github.com/owner/repository/issues/7\n"
      "  https://github.com/owner/repository\n  https://our.wiki/fabric#rest\n"));
}

TEST_CASE("a log that ends in the store's barrier tells how many came", "[explain]") {
  const std::string waits =
      "INFO:torch.distributed.distributed_c10d:Waiting in store based barrier to initialize "
      "process "
      "group for rank: 0, key: store_based_barrier_key:1 (world_size=4, worker_count=3, "
      "timeout=0:30:00)\n";
  CHECK(has(explain_log(waits, Catalogue::builtin()),
            "perhaps: a rank is missing (rank-missing)\n  3 of 4 ranks had come"));
  CHECK(explain_log(waits + "step 1\n", Catalogue::builtin()) ==
        "No known cause shows in this log.\n");
}

TEST_CASE("words that begin below an exception's last line count, though indented", "[explain]") {
  const auto cause = [](const std::string& log) {
    return read_log(log, Catalogue::builtin()).front().cause->id;
  };
  const std::string traceback = "Traceback (most recent call last):\n  File \"a.py\", line 1\n";
  const std::string words = "        An attempt has been made to start a new process before the\n";
  CHECK(cause(traceback + "RuntimeError: \n" + words) == "no-main-guard");
  CHECK(cause(traceback + traceback + "RuntimeError: \nRuntimeError: \n" + words) ==
        "no-main-guard");
  CHECK(cause(traceback + words + "RuntimeError: no\n") ==
        "user-exception");  // it is a source line
}

TEST_CASE("a log of harmless lines says so", "[explain]") {
  CHECK(has(explain_log("[W socket.cpp:426] [c10d] The server socket cannot be initialized on "
                        "[::]:6100 (errno: 97 - Address family not supported by protocol).\n",
                        Catalogue::builtin()),
            "harmless: torch tries IPv6"));
}

TEST_CASE("a launcher that a signal ended blames no rank", "[explain]") {
  CHECK(read_log("W0920 09:10:41.194000 8493 torch/distributed/elastic/agent/server/api.py:719] "
                 "Received 1 death signal, shutting down workers\n"
                 "W0920 09:10:41.195000 8493 torch/distributed/elastic/multiprocessing/api.py:900] "
                 "Sending process 8500 closing signal SIGHUP\n",
                 Catalogue::builtin())
            .front()
            .cause->id == "launcher-signalled");
}

TEST_CASE("in an explained log a doubtful cause is called so, and a victim too", "[explain]") {
  const std::string text = explain_log(
      "[rank3]: RuntimeError: Connection reset by peer\n"
      "[W1121 11:51:20.3 socket.cpp:469] [c10d] The IPv6 network addresses of (n, 1) cannot be "
      "retrieved (gai error: -2 - Name or service not known).\n",
      Catalogue::builtin());
  CHECK(
      has(text, "victim: a rank lost its connection to one that had ended (peer-lost, rank 3)\n"));
  CHECK(has(text,
            "perhaps: a host name cannot be resolved, or leads to the loopback "
            "(name-resolution)\n"));
}

TEST_CASE("the errno of a shared memory segment decides: only a full /dev/shm is too small",
          "[explain]") {
  const auto named = [](const std::string& error) {
    const std::string words =
        "Error while creating shared memory segment /dev/shm/nccl-x (size 9637888), error: " +
        error;
    return cause_named_by(words, Catalogue::builtin())->id;
  };
  CHECK(named("No space left on device (28)") == "shm-small");
  CHECK(named("Permission denied (13)") == "shm-denied");
  CHECK(named("No such file or directory (2)") == "shm-denied");
}
