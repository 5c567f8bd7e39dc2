#include "safelaunch/base/process.h"

#include <sys/wait.h>

#include <csignal>
#include <cstring>

namespace safelaunch {

std::optional<ExitStatus> exit_status_from_wait(int wait_status) {
  if (WIFEXITED(wait_status)) return Exited{WEXITSTATUS(wait_status)};
  if (WIFSIGNALED(wait_status)) return Signaled{WTERMSIG(wait_status), WCOREDUMP(wait_status) != 0};
  return std::nullopt;
}

int shell_code(const ExitStatus& status) {
  if (const auto* exited = std::get_if<Exited>(&status)) return exited->code;
  return 128 + std::get<Signaled>(status).signal;
}

bool succeeded(const ExitStatus& status) {
  return status == ExitStatus{Exited{0}};
}

std::string describe(const ExitStatus& status) {
  if (const auto* exited = std::get_if<Exited>(&status))
    return "exit status " + std::to_string(exited->code);
  const auto& signaled = std::get<Signaled>(status);
  return "killed by " + signal_name(signaled.signal) + (signaled.core ? " (core dumped)" : "");
}

std::string signal_name(int signal) {
  const char* abbreviation = sigabbrev_np(signal);
  if (abbreviation == nullptr) return "signal " + std::to_string(signal);
  return std::string("SIG") + abbreviation;
}

}  // namespace safelaunch
