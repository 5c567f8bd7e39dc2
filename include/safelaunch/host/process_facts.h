#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/process_id.h"
#include "safelaunch/base/time.h"

/// What /proc tells of one process. Every function reads one file, throws nothing and changes
/// nothing; nullopt (or an empty value) means that the process has vanished or that we may not
/// look. A function that takes a bare pid reads whoever has it now: compare `facts_of(id)` before
/// acting.
namespace safelaunch::host {

/// /proc/PID/stat, and the owner of /proc/PID.
struct ProcessFacts {
  ProcessId id;
  int parent = 0;
  int group = 0;
  int session = 0;
  int terminal = 0;  ///< device number of the controlling terminal; 0: none
  char state = '?';  ///< as in ps, of its main thread: R S D T t Z X I
  int threads = 0;   ///< an ended main thread counts among them as long as there are others
  unsigned uid = 0;  ///< the effective one
  std::string comm;  ///< the kernel's name of it, at most 15 bytes
  Duration cpu{};    ///< of all its threads, and of the children it has waited for
  Duration age{};    ///< since it was started

  /// True for a zombie. A process whose main thread alone has ended looks like one, and works on.
  [[nodiscard]] bool has_ended() const { return (state == 'Z' || state == 'X') && threads <= 1; }
};

/// The facts that a line of /proc/PID/stat holds (uid stays 0), seen `uptime` after the boot.
[[nodiscard]] std::optional<ProcessFacts> parse_stat(std::string_view stat, Duration uptime);

[[nodiscard]] std::optional<ProcessFacts> facts_of(int pid);

/// As above, and nullopt where another process has the pid by now.
[[nodiscard]] std::optional<ProcessFacts> facts_of(ProcessId id);

/// Ourselves.
[[nodiscard]] ProcessId self();

/// What is known of a process's life.
enum class Life {
  running,
  ended,   ///< its pid is free or another's, or it is a zombie, which it may stay for long where
           ///< PID 1 does not reap
  hidden,  ///< somebody has its pid whom /proc does not show to us (hidepid)
};

[[nodiscard]] Life life_of(ProcessId id);

/// True where the process is seen to run: what is hidden counts for nothing.
[[nodiscard]] bool is_running(ProcessId id);

/// Whether a line of /proc/PID/stat is of a thread that was killed and cannot take notice: it is in
/// uninterruptible sleep (state D), and SIGKILL waits for it or it is on its way out already.
[[nodiscard]] bool is_stuck(std::string_view stat);

/// The kernel function in which such a thread of the process waits, empty where that is not told;
/// nullopt where it has none. The process may look like a zombie: its first thread is gone then.
[[nodiscard]] std::optional<std::string> stuck_in(int pid);

/// The words of the command line; empty for a zombie or a kernel thread.
[[nodiscard]] std::vector<std::string> command_line_of(int pid);

/// The environment that the process was started with; what it set later is not seen. Readable for
/// processes of our own user only.
[[nodiscard]] std::optional<Environment> environment_of(int pid);

/// The same as the kernel keeps it, "NAME=VALUE" with a zero byte behind each: for whoever looks at
/// thousands of processes and wants one variable. With a uid, nullopt for other users' processes,
/// also where we are root and could read theirs.
[[nodiscard]] std::optional<std::string> raw_environment_of(int pid, std::optional<unsigned> uid);

/// The value of a variable in a raw environment.
[[nodiscard]] std::optional<std::string_view> variable_in(std::string_view raw_environment,
                                                          std::string_view name);

/// Bytes that went through read and write calls, those of waited-for children included.
[[nodiscard]] std::optional<std::uint64_t> io_bytes_of(int pid);

/// /proc/PID/maps; nullopt where it cannot be read, or not without a risk to wait for it.
[[nodiscard]] std::optional<std::string> maps_of(int pid);

/// True where a mapped file's path contains `part` ("libtorch_python.so").
[[nodiscard]] bool maps_contain(int pid, std::string_view part);

/// The names of its threads, the main thread first: torch and gloo name theirs ("pt_tcpstore_uv").
[[nodiscard]] std::vector<std::string> thread_names_of(int pid);

/// The lines of /proc/PID/cgroup: the same text means the same cgroups.
[[nodiscard]] std::string cgroup_of(int pid);

/// The inode of the process's pid namespace; two processes with the same one share their pids.
[[nodiscard]] std::optional<std::uint64_t> pid_namespace_of(int pid);

/// The parent, its parent, … up to PID 1, ourselves not included; not beyond one that is hidden.
[[nodiscard]] std::vector<int> ancestors_of(int pid);

}  // namespace safelaunch::host
