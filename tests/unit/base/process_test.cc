#include "safelaunch/base/process.h"

#include <csignal>

#include "catch.h"

using namespace safelaunch;

TEST_CASE("a wait status is taken apart once", "[exit_status]") {
  CHECK(exit_status_from_wait(3 << 8) == ExitStatus{Exited{3}});
  CHECK(exit_status_from_wait(SIGTERM) == ExitStatus{Signaled{SIGTERM, false}});
  CHECK(exit_status_from_wait(SIGSEGV | 0x80) == ExitStatus{Signaled{SIGSEGV, true}});
  CHECK(exit_status_from_wait(0x137f) == std::nullopt);  // stopped by SIGSTOP
}

TEST_CASE("the shell's code is the exit code or 128 and the signal", "[exit_status]") {
  CHECK(shell_code(Exited{255}) == 255);
  CHECK(shell_code(Signaled{SIGKILL, false}) == 137);
}

TEST_CASE("an exit status speaks plainly", "[exit_status]") {
  CHECK(describe(Exited{3}) == "exit status 3");
  CHECK(describe(Signaled{SIGSEGV, true}) == "killed by SIGSEGV (core dumped)");
  CHECK(signal_name(SIGTERM) == "SIGTERM");
}

TEST_CASE("every exit code and signal of a wait status is read", "[exit_status]") {
  for (int code = 0; code < 256; ++code)
    CHECK(exit_status_from_wait(code << 8) == ExitStatus{Exited{code}});
  for (int signal = 1; signal < 65; ++signal)
    CHECK(exit_status_from_wait(signal) == ExitStatus{Signaled{signal, false}});
  CHECK(exit_status_from_wait(0xffff) == std::nullopt);  // continued by SIGCONT
}

TEST_CASE("only exit code 0 is a success", "[exit_status]") {
  CHECK(succeeded(Exited{0}));
  CHECK_FALSE(succeeded(Exited{1}));
  CHECK_FALSE(succeeded(Signaled{SIGTERM}));
}

TEST_CASE("a signal without a name goes by its number", "[exit_status]") {
  CHECK(describe(Signaled{SIGKILL}) == "killed by SIGKILL");
  CHECK(describe(Signaled{SIGRTMAX}) == "killed by signal 64");
  CHECK(signal_name(0) == "signal 0");
  CHECK(signal_name(-1) == "signal -1");
}

TEST_CASE("a process of another node is not the one here with its pid and start", "[process]") {
  const ProcessId here{71, 5};
  const ProcessId there{71, 5, 2};
  CHECK(here.is_here());
  CHECK_FALSE(there.is_here());
  CHECK(here != there);
  CHECK(here < there);
  CHECK(ProcessId{71, 4} < here);  // an earlier process with the same pid
}
