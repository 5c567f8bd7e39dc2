#include "safelaunch/job/launcher_report.h"

#include <csignal>
#include <map>

#include "catch.h"
#include "launcher_output.h"

using namespace safelaunch;

using namespace safelaunch::job;
using namespace safelaunch::testing;

TEST_CASE("torchrun's block names the rank that failed first", "[launcher_report]") {
  const auto failure = job::read_launcher_failure(job::Launcher::torchrun, kTorchrunKilled);
  REQUIRE(failure);
  CHECK(failure->rank == Rank{1});
  CHECK(failure->local_rank == 1);
  CHECK(failure->pid == 8725);
  CHECK(failure->status == ExitStatus{Signaled{SIGKILL}});
  CHECK(failure->error_file.empty());
}

TEST_CASE("torchrun's block names the error file, and its traceback is not mistaken for fields",
          "[launcher_report]") {
  const auto failure = job::read_launcher_failure(job::Launcher::torchrun, kTorchrunRecorded);
  REQUIRE(failure);
  CHECK(failure->status == ExitStatus{Exited{1}});
  CHECK(failure->pid == 17925);
  CHECK(failure->error_file == "/tmp/torchelastic_m0cdw9_4/990a7cf4/attempt_1/1/error.json");
}

TEST_CASE("torchrun's first line is enough while it still stops the others", "[launcher_report]") {
  const std::string_view all = kTorchrunKilled;
  const auto failure =
      job::read_launcher_failure(job::Launcher::torchrun, all.substr(0, all.find("Traceback")));
  REQUIRE(failure);
  CHECK_FALSE(failure->rank);
  CHECK(failure->local_rank == 1);
  CHECK(failure->pid == 8725);
  CHECK(failure->status == ExitStatus{Signaled{SIGKILL}});
}

TEST_CASE("with several attempts in the text the last one counts", "[launcher_report]") {
  const std::string text = std::string(kTorchrunKilled) + kTorchrunRecorded;
  CHECK(job::read_launcher_failure(job::Launcher::torchrun, text)->pid == 17925);
}

TEST_CASE("deepspeed tells the status, and no rank", "[launcher_report]") {
  const auto failure = job::read_launcher_failure(job::Launcher::deepspeed, kDeepspeedKilled);
  REQUIRE(failure);
  CHECK(failure->status == ExitStatus{Signaled{SIGKILL}});
  CHECK_FALSE(failure->rank);
  CHECK_FALSE(failure->local_rank);
}

TEST_CASE("spawned processes are reported by their parent", "[launcher_report]") {
  const auto raised = job::read_launcher_failure(job::Launcher::python, kSpawnRaised);
  REQUIRE(raised);
  CHECK(raised->local_rank == 1);
  CHECK(raised->status == ExitStatus{Exited{1}});

  const auto killed = job::read_launcher_failure(job::Launcher::python, kSpawnKilled);
  REQUIRE(killed);
  CHECK(killed->local_rank == 1);
  CHECK(killed->status == ExitStatus{Signaled{SIGKILL}});

  const auto exited = job::read_launcher_failure(job::Launcher::opaque, kSpawnExited);
  REQUIRE(exited);
  CHECK(exited->local_rank == 1);
  CHECK(exited->status == ExitStatus{Exited{3}});
}

TEST_CASE("accelerate speaks as torchrun, or of its one process", "[launcher_report]") {
  CHECK(job::read_launcher_failure(job::Launcher::accelerate, kTorchrunKilled)->rank == Rank{1});
  CHECK(job::read_launcher_failure(job::Launcher::accelerate, kAccelerateExited)->status ==
        ExitStatus{Exited{3}});
  CHECK(job::read_launcher_failure(job::Launcher::accelerate, kAccelerateDied)->status ==
        ExitStatus{Signaled{SIGSEGV}});
}

TEST_CASE("a launcher that says nothing of a failure is not quoted", "[launcher_report]") {
  for (const auto launcher :
       {job::Launcher::torchrun, job::Launcher::deepspeed, job::Launcher::accelerate,
        job::Launcher::python, job::Launcher::opaque}) {
    CHECK_FALSE(job::read_launcher_failure(launcher, ""));
    CHECK_FALSE(job::read_launcher_failure(launcher, "epoch 3, loss 0.1, rank : 3\n"));
    CHECK_FALSE(job::read_launcher_failure(launcher, "exits with return code = \n-- Process "));
    CHECK_FALSE(job::read_launcher_failure(launcher, "Root Cause (first observed failure):"));
  }
}

TEST_CASE("a cut block gives what is there", "[launcher_report]") {
  const std::string_view whole = kTorchrunRecorded;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const auto failure = job::read_launcher_failure(job::Launcher::torchrun, whole.substr(0, size));
    if (failure) CHECK(failure->status);
  }
}

TEST_CASE("the rank's own status replaces what the launcher shows", "[launcher_report]") {
  const auto killed = job::read_launcher_failure(job::Launcher::torchrun, kTorchrunKilled);
  CHECK(job::unhide(job::Launcher::torchrun, Exited{1}, killed) == ExitStatus{Signaled{SIGKILL}});
  CHECK(job::unhide(job::Launcher::torchrun, Exited{1}, std::nullopt) == ExitStatus{Exited{1}});
  CHECK(job::unhide(job::Launcher::torchrun, Exited{0}, killed) == ExitStatus{Exited{0}});
  CHECK(job::unhide(job::Launcher::torchrun, Signaled{SIGTERM}, std::nullopt) ==
        ExitStatus{Signaled{SIGTERM}});
}

TEST_CASE("deepspeed's code above 240 is a signal, but for those that scripts use",
          "[launcher_report]") {
  CHECK(job::unhide(job::Launcher::deepspeed, Exited{245}, std::nullopt) ==
        ExitStatus{Signaled{SIGSEGV}});
  CHECK(job::unhide(job::Launcher::deepspeed, Exited{247}, std::nullopt) ==
        ExitStatus{Signaled{SIGKILL}});
  CHECK(job::unhide(job::Launcher::deepspeed, Exited{3}, std::nullopt) == ExitStatus{Exited{3}});
  CHECK(job::unhide(job::Launcher::deepspeed, Exited{255}, std::nullopt) ==
        ExitStatus{Exited{255}});
  CHECK(job::unhide(job::Launcher::torchrun, Exited{245}, std::nullopt) == ExitStatus{Exited{245}});
  CHECK(job::unhide(
            job::Launcher::deepspeed, Exited{245},
            job::read_launcher_failure(job::Launcher::deepspeed, "exits with return code = 245")) ==
        ExitStatus{Exited{245}});
}

TEST_CASE("numbers and lines that no launcher writes are not taken for a failure",
          "[launcher_report]") {
  for (const char* text : {"failed (exitcode: 99999999999) local_rank: 1 (pid: 2) of binary: x",
                           "failed (exitcode: ) local_rank: 1", "failed (exitcode:",
                           "Root Cause (first observed failure):\n  exitcode  : x (pid: 1)\n",
                           "Root Cause (first observed failure):\n  exitcode 3\n"})
    CHECK_FALSE(read_launcher_failure(Launcher::torchrun, text));
  for (const char* text : {"exits with return code = x", "exits with return code = 99999999999"})
    CHECK_FALSE(read_launcher_failure(Launcher::deepspeed, text));
  for (const char* text : {"CalledProcessError: Command 'x' returned non-zero exit status .",
                           "CalledProcessError: Command 'x' died with <Signals.SIGSEGV>.",
                           "CalledProcessError: Command 'x'\nreturned non-zero exit status 3."})
    CHECK_FALSE(read_launcher_failure(Launcher::accelerate, text));
  for (const char* text : {"Exception: process x terminated with exit code 3",
                           "-- Process x terminated with the following error:",
                           "-- Process 1\nterminated with the following error:"})
    CHECK_FALSE(read_launcher_failure(Launcher::python, text));
}

TEST_CASE("a part that a launcher leaves out stays open", "[launcher_report]") {
  const auto short_line = read_launcher_failure(Launcher::torchrun, "failed (exitcode: 3)");
  REQUIRE(short_line);
  CHECK(short_line->status == ExitStatus{Exited{3}});
  CHECK_FALSE(short_line->local_rank);
  CHECK_FALSE(short_line->pid);

  const auto block = read_launcher_failure(
      Launcher::torchrun,
      "Root Cause (first observed failure):\r\n[0]:\r\n  rank      : 7\r\n  exitcode  : 1\r\n");
  REQUIRE(block);
  CHECK(block->rank == Rank{7});
  CHECK_FALSE(block->local_rank);
  CHECK_FALSE(block->pid);
  CHECK(block->error_file.empty());
}

TEST_CASE("a spawned process that a signal ended is read by the signal's name",
          "[launcher_report]") {
  struct Row {
    const char* text;
    std::optional<ExitStatus> status;
  };
  const Row rows[] = {
      {"Exception: process 3 terminated with signal SIGKILL", Signaled{SIGKILL}},
      {"Exception: process 3 terminated with signal SIGABRT", Signaled{SIGABRT}},
      {"Exception: process 3 terminated with signal SIGNONE", std::nullopt},
      {"Exception: process 3 terminated with exit code 7", Exited{7}},
      {"Exception: process 3 terminated", std::nullopt},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const auto failure = read_launcher_failure(Launcher::python, row.text);
    REQUIRE(failure);
    CHECK(failure->local_rank == 3);
    CHECK(failure->status == row.status);
  }
}

TEST_CASE("a local rank is the rank only of what Python spawned by itself", "[launcher_report]") {
  LauncherFailure local;
  local.local_rank = 1;
  for (const auto launcher :
       {Launcher::torchrun, Launcher::deepspeed, Launcher::accelerate, Launcher::opaque})
    CHECK_FALSE(rank_of(launcher, local));
  CHECK(rank_of(Launcher::python, local) == Rank{1});
  local.rank = Rank{9};
  CHECK(rank_of(Launcher::python, local) == Rank{9});
  CHECK(rank_of(Launcher::torchrun, local) == Rank{9});
  CHECK_FALSE(rank_of(Launcher::python, {}));
}

TEST_CASE("each code in which deepspeed hides a deadly signal, and its neighbours",
          "[launcher_report]") {
  std::map<int, int> hidden;  // code → signal
  for (int code = 1; code < 256; ++code) {
    const ExitStatus seen = unhide(Launcher::deepspeed, Exited{code}, std::nullopt);
    if (const auto* signaled = std::get_if<Signaled>(&seen)) hidden[code] = signaled->signal;
  }
  CHECK(hidden == std::map<int, int>{{252, SIGILL},
                                     {250, SIGABRT},
                                     {249, SIGBUS},
                                     {248, SIGFPE},
                                     {247, SIGKILL},
                                     {245, SIGSEGV},
                                     {241, SIGTERM}});
}

TEST_CASE("an opaque command may speak as any launcher", "[launcher_report]") {
  CHECK(read_launcher_failure(Launcher::opaque, kTorchrunKilled)->rank == Rank{1});
  CHECK(read_launcher_failure(Launcher::opaque, kDeepspeedKilled)->status ==
        ExitStatus{Signaled{SIGKILL}});
  CHECK(read_launcher_failure(Launcher::accelerate, kDeepspeedKilled)->status ==
        ExitStatus{Signaled{SIGKILL}});
  CHECK_FALSE(read_launcher_failure(Launcher::torchrun, kSpawnExited));
  CHECK_FALSE(read_launcher_failure(Launcher::python, kTorchrunKilled));
}
