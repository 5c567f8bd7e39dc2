#include "safelaunch/job/launcher_report.h"

#include <csignal>

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
