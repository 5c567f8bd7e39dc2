#pragma once

#include <optional>
#include <string>
#include <variant>

namespace safelaunch {

/// A process that returned from main or called exit: its code, 0..255.
struct Exited {
  int code = 0;
  bool operator==(const Exited&) const = default;
};

/// A process that a signal ended.
struct Signaled {
  int signal = 0;
  bool core = false;
  bool operator==(const Signaled&) const = default;
};

/// How a process ended. Nobody else takes a wait status apart.
using ExitStatus = std::variant<Exited, Signaled>;

/// From the status that waitpid(2) stores; nullopt where the process has not ended (stopped).
[[nodiscard]] std::optional<ExitStatus> exit_status_from_wait(int wait_status);

/// The status a shell would show: the code, or 128 + signal.
[[nodiscard]] int shell_code(const ExitStatus& status);

[[nodiscard]] bool succeeded(const ExitStatus& status);

/// "exit status 3", "killed by SIGSEGV (core dumped)".
[[nodiscard]] std::string describe(const ExitStatus& status);

/// "SIGTERM" for 15; "signal 64" for one that has no name.
[[nodiscard]] std::string signal_name(int signal);

}  // namespace safelaunch
