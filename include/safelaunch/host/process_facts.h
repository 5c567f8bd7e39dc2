#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/base/process.h"
#include "safelaunch/base/time.h"

/// The facts of /proc on one process. Every function throws nothing and changes nothing; nullopt
/// (or an empty value) means that the process has vanished or that we may not look. A function that
/// takes a bare pid reads the process that has it now: compare `facts_of(id)` before acting.
namespace safelaunch::host {

/// /proc/PID/stat, and the owner of /proc/PID.
struct ProcessFacts {
  ProcessId id;
  int parent = 0;
  int group = 0;
  int session = 0;
  int terminal = 0;  ///< the device number of the controlling terminal; 0: none
  char state = '?';  ///< the state of its main thread as in ps: R S D T t Z X I
  int threads = 0;   ///< how many threads; an ended main thread counts as long as there are others
  unsigned uid = 0;  ///< the effective user
  std::string comm;  ///< the kernel's name of it, at most 15 bytes
  Duration cpu{};    ///< the CPU time of all its threads, and of the children it has waited for
  Duration age{};    ///< the time since it was started

  /// Whether it is a zombie. A process whose main thread alone has ended looks like one, and works
  /// on.
  [[nodiscard]] bool has_ended() const { return (state == 'Z' || state == 'X') && threads <= 1; }
};

/// The facts that a line of /proc/PID/stat holds (uid stays 0), seen `uptime` after the boot.
[[nodiscard]] std::optional<ProcessFacts> parse_stat(std::string_view stat, Duration uptime);

[[nodiscard]] std::optional<ProcessFacts> facts_of(int pid);

/// As facts_of(pid), but nullopt where another process has the pid by now.
[[nodiscard]] std::optional<ProcessFacts> facts_of(ProcessId id);

/// Our own process.
[[nodiscard]] ProcessId self();

/// Our knowledge of a process's life.
enum class Life {
  running,
  /// Its pid is free or another's, or it is a zombie, perhaps for long where PID 1 does not reap.
  ended,
  hidden,  ///< a process has its pid that /proc does not show to us (hidepid)
};

[[nodiscard]] Life life_of(ProcessId id);

/// Whether the process is seen to run: a hidden one does not count.
[[nodiscard]] bool is_running(ProcessId id);

/// Whether a line of /proc/PID/stat belongs to a thread that was killed and cannot end: it is in
/// uninterruptible sleep (state D), and a SIGKILL waits for it or it is already exiting.
[[nodiscard]] bool is_stuck(std::string_view stat);

/// The kernel function in which such a thread of the process waits, empty where the kernel does not
/// tell; nullopt where the process has no such thread. The process may look like a zombie, when its
/// first thread is gone.
[[nodiscard]] std::optional<std::string> stuck_in(int pid);

/// The words of the command line; empty for a zombie or a kernel thread.
[[nodiscard]] std::vector<std::string> command_line_of(int pid);

/// The first words of the command line without its secrets, short enough for one line on a screen;
/// `otherwise` where there are none that we may read.
[[nodiscard]] std::string short_command_of(int pid, const std::string& otherwise);

/// The environment with which the process was started, without its later changes. We may read it of
/// our own user's processes only.
[[nodiscard]] std::optional<Environment> environment_of(int pid);

/// The environment as the kernel keeps it, "NAME=VALUE" with a zero byte behind each: for a caller
/// who looks at thousands of processes and wants one variable. With a uid, nullopt for other users'
/// processes, even where we are root and could read theirs.
[[nodiscard]] std::optional<std::string> raw_environment_of(int pid, std::optional<unsigned> uid);

/// The value of a variable in a raw environment.
[[nodiscard]] std::optional<std::string_view> variable_in(std::string_view raw_environment,
                                                          std::string_view name);

/// The bytes of all read and write calls, those of waited-for children included.
[[nodiscard]] std::optional<std::uint64_t> io_bytes_of(int pid);

/// The text of /proc/PID/maps; nullopt where it cannot be read, or not without the risk of waiting
/// for the process.
[[nodiscard]] std::optional<std::string> maps_of(int pid);

/// Whether the path of a mapped file contains `part` ("libtorch_python.so").
[[nodiscard]] bool maps_contain(int pid, std::string_view part);

/// The names of its threads, the main thread first: torch and gloo name theirs ("pt_tcpstore_uv").
[[nodiscard]] std::vector<std::string> thread_names_of(int pid);

/// The lines of /proc/PID/cgroup: the same text means the same cgroups.
[[nodiscard]] std::string cgroup_of(int pid);

/// The inode of the process's pid namespace; two processes with the same one share their pids.
[[nodiscard]] std::optional<std::uint64_t> pid_namespace_of(int pid);

/// The parent, its parent, … up to PID 1, without the process itself. The list ends at a process
/// that is hidden.
[[nodiscard]] std::vector<int> ancestors_of(int pid);

// The kernel's own facts on NVIDIA's GPUs. No driver is called, so a sick one cannot hold us.

/// The GPUs that a process has open, each once: N of /dev/nvidiaN, without the control devices
/// (nvidiactl, nvidia-uvm). Empty where we may not look.
[[nodiscard]] std::vector<int> gpus_opened_by(int pid);

/// The models of the GPUs that the NVIDIA kernel module lists ("NVIDIA H100 80GB HBM3").
[[nodiscard]] std::vector<std::string> gpu_models();

}  // namespace safelaunch::host
