#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/base/time.h"
#include "safelaunch/host/kernel_wait.h"
#include "safelaunch/host/process_tree.h"
#include "safelaunch/host/sockets.h"

namespace safelaunch::host {

/// One thread at one moment.
struct ThreadSample {
  int tid = 0;
  char state = '?';
  std::string comm;
  std::uint64_t runs = 0;  ///< how often it got onto a CPU
  std::string waits_in;    ///< the kernel function it sleeps in ("futex_do_wait"); empty: unknown
  WaitKind wait = WaitKind::unknown;
  bool at_terminal = false;  ///< it waits for somebody to type there
  std::uint64_t pipe = 0;    ///< inode of the pipe that it waits to read from; 0: none
  bool reads_local =
      false;  ///< it waits to read a pipe or a Unix socket: another process may write
};

/// One process of a tree at one moment.
struct ProcessSample {
  ProcessFacts facts;
  std::uint64_t io_bytes = 0;
  int tracer = 0;                     ///< pid of the debugger that is attached to it; 0: none
  std::vector<ThreadSample> threads;  ///< the main thread first
  SocketTraffic traffic{};            ///< of the connections that it has open
};

/// A process and all its descendants at one moment, the root first; empty where the root is gone.
struct TreeSample {
  TimePoint at;
  std::vector<ProcessSample> processes;
  bool has_traffic = false;  ///< what went over connections was asked for
};

/// What a tree does, and the words for it.
struct ActivitySeen {
  Activity activity = Activity::unseen;
  std::string doing;  ///< "sleeping in hrtimer_nanosleep", "c++ compiles in a child (pid 71)"
  bool awaits_local = false;  ///< it idles until another process of this host writes to it
};

/// What the root of two samples, its threads and its children did between them. The rules stand in
/// launcher/host/activity.cc, in the order in which they are asked. Half a second or more between
/// the samples gives a sound answer.
[[nodiscard]] ActivitySeen classify(const TreeSample& before, const TreeSample& after);

/// Reads one sample. Costs some 60 µs a thread: sample what is waited for, not the whole job.
[[nodiscard]] TreeSample sample_tree(ProcessId root, TimePoint now, const ProcessTable& table);

/// Adds to the sample what went over the connections of its processes: recv(2) and send(2) are in
/// no account of a process. Costs a look at each open descriptor.
void add_traffic(TreeSample& sample, const SocketTraffic& traffic);

/// A thread that torch, NCCL, CUDA, a memory allocator or our hook runs for itself: it ticks in a
/// healthy and in a hung process alike, so what it does says nothing.
[[nodiscard]] bool is_housekeeping(std::string_view thread_comm);

/// True for the programs that a JIT build runs (cc1plus, nvcc, ptxas, ninja, rustc, …).
[[nodiscard]] bool is_compiler(std::string_view comm);

}  // namespace safelaunch::host
