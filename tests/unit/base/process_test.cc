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
