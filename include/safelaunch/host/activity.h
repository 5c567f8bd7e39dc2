#pragma once

#include <cstdint>

#include "safelaunch/base/event.h"
#include "safelaunch/base/time.h"
#include "safelaunch/host/process_tree.h"
#include "safelaunch/host/sockets.h"

namespace safelaunch::host {

/// The kind of wait of a sleeping thread, as far as the kernel tells.
enum class WaitKind {
  unknown,  ///< we may not read it
  inner,    ///< it waits for a thread of its own process, or for the end of a child
  outer,    ///< it waits for something from outside: by a socket, a pipe, a signal, shared memory
  timed,    ///< it sleeps, or waits with a timeout: the wait ends by itself
  lock,     ///< it waits for the lock of a file, which another process holds
};

/// Judges by /proc/PID/task/TID/syscall (number and arguments of the thread's call) and wchan (the
/// kernel function in which it sleeps). The call decides, since a poll with a timeout and one
/// without sleep in the same function; wchan counts only where the call cannot be read.
[[nodiscard]] WaitKind kind_of_wait(std::string_view syscall, std::string_view wchan);

/// The descriptor from which a thread waits to read.
struct AwaitedInput {
  int descriptor = 0;
  bool is_epoll = false;  ///< the descriptors that it waits for stand in this one's fdinfo
};

/// Takes the descriptor from the call alone; of several in a select it is the highest. nullopt for
/// other calls, and for a poll, which keeps its descriptors in the memory of the process.
[[nodiscard]] std::optional<AwaitedInput> awaited_input(std::string_view syscall);

/// One thread at one moment.
struct ThreadSample {
  int tid = 0;
  char state = '?';
  std::string comm;
  std::uint64_t runs = 0;  ///< how often the thread got onto a CPU
  /// The kernel function in which it sleeps ("futex_do_wait"); empty: unknown.
  std::string waits_in{};
  WaitKind wait = WaitKind::unknown;
  bool at_terminal = false;  ///< it waits for somebody to type at a terminal
  std::uint64_t pipe = 0;    ///< the inode of the pipe from which it waits to read; 0: none
  /// It waits to read a pipe or a Unix socket, into which another process may write.
  bool reads_local = false;
  bool reads_input = false;  ///< of these, it is the one that came to us as standard input
};

/// One process of a tree at one moment.
struct ProcessSample {
  ProcessFacts facts;
  std::uint64_t io_bytes = 0;
  int tracer = 0;                     ///< pid of the debugger that is attached to it; 0: none
  std::vector<ThreadSample> threads;  ///< the main thread first
  SocketTraffic traffic{};            ///< the traffic of its open connections
  bool frozen = false;                ///< its cgroup is frozen
  bool tracer_at_terminal = false;    ///< the debugger waits for somebody to type
};

/// A process and all its descendants at one moment, the root first; empty where the root is gone.
struct TreeSample {
  TimePoint at;
  std::vector<ProcessSample> processes;
  bool has_traffic = false;  ///< the traffic of connections was asked for
};

/// The activity of a tree, and the words for it.
struct ActivitySeen {
  Activity activity = Activity::unseen;
  std::string doing;  ///< "sleeping in hrtimer_nanosleep", "c++ compiles in a child (pid 71)"
  bool awaits_local = false;  ///< it idles until another process of this host writes to it
  bool awaits_input = false;  ///< it idles until somebody writes to the job's standard input
};

/// The activity of the root, its threads and its children between two samples.
/// launcher/host/activity.cc has the rules, in the order in which they are asked. Half a second or
/// more between the samples gives a sound answer.
[[nodiscard]] ActivitySeen classify(const TreeSample& before, const TreeSample& after);

/// Reads one sample. It costs some 60 µs a thread: sample the ranks that others wait for, not the
/// whole job.
[[nodiscard]] TreeSample sample_tree(ProcessId root, TimePoint now, const ProcessTable& table);

/// Adds the traffic of the processes' connections to the sample, since no account of a process has
/// the bytes of recv(2) and send(2). It costs a look at each open descriptor.
void add_traffic(TreeSample& sample, const SocketTraffic& traffic);

/// Whether torch, NCCL, CUDA, a memory allocator or our hook runs a thread of this name for itself.
/// The thread ticks in a healthy and in a hung process alike, so its activity says nothing.
[[nodiscard]] bool is_housekeeping(std::string_view thread_comm);

/// Whether a JIT build runs a program of this name (cc1plus, nvcc, ptxas, ninja, rustc, …).
[[nodiscard]] bool is_compiler(std::string_view comm);

/// The words for the wait of a tree that stood still between two samples: it has used next to no
/// CPU, touched next to no files and started nothing. nullopt for any other tree, and for one in a
/// person's hands. The samples may be minutes apart, so even less CPU than `classify` takes for
/// work counts as work here.
[[nodiscard]] std::optional<std::string> stood_still(const TreeSample& before,
                                                     const TreeSample& after);

}  // namespace safelaunch::host
