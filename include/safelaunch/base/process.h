#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>

namespace safelaunch {

/// A process, once and for all: pids are reused within minutes on a busy host, a pid together with
/// its start time is not. `start_ticks` is field 22 of /proc/PID/stat (clock ticks since boot).
struct ProcessId {
  int pid = 0;
  std::uint64_t start_ticks = 0;
  /// Where the job runs on several nodes: another node than this one, which its agent tells of.
  /// Nothing on this host may be looked up, asked or signalled under its pid.
  int node = 0;
  [[nodiscard]] bool is_here() const { return node == 0; }
  auto operator<=>(const ProcessId&) const = default;
};

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

/// The end of a process. No other file takes a wait status apart.
using ExitStatus = std::variant<Exited, Signaled>;

/// Takes the status apart that waitpid(2) stores; nullopt where the process has not ended
/// (stopped).
[[nodiscard]] std::optional<ExitStatus> exit_status_from_wait(int wait_status);

/// The status a shell would show: the code, or 128 + signal.
[[nodiscard]] int shell_code(const ExitStatus& status);

[[nodiscard]] bool succeeded(const ExitStatus& status);

/// "exit status 3", "killed by SIGSEGV (core dumped)".
[[nodiscard]] std::string describe(const ExitStatus& status);

/// "SIGTERM" for 15; "signal 64" for a signal without a name.
[[nodiscard]] std::string signal_name(int signal);

}  // namespace safelaunch
