#include "proc_file.h"
#include "safelaunch/host/activity.h"

namespace safelaunch {
namespace {

/// The third number of schedstat: how often the thread was put on a CPU. One short file, and free
/// of the rights that others need.
std::uint64_t runs_of(int pid, int tid) {
  const SmallFile file{ProcPath(pid, tid, "schedstat")};
  auto rest = file.text();
  static_cast<void>(take_word(rest));  // nanoseconds on a CPU
  static_cast<void>(take_word(rest));  // nanoseconds waiting for one
  return number_in(rest);
}

ThreadSample sample_thread(int pid, int tid) {
  ThreadSample thread;
  thread.tid = tid;
  if (const auto stat = parse_stat(SmallFile{ProcPath(pid, tid, "stat")}.text(), Duration{})) {
    thread.state = stat->state;
    thread.comm = stat->comm;
  }
  thread.runs = runs_of(pid, tid);
  const SmallFile wchan{ProcPath(pid, tid, "wchan")};
  if (wchan.text() != "0") thread.waits_in = wchan.text();
  if (thread.state == 'S')
    thread.wait = kind_of_wait(SmallFile{ProcPath(pid, tid, "syscall")}.text(), wchan.text());
  return thread;
}

ProcessSample sample_process(ProcessFacts facts) {
  const int pid = facts.id.pid;
  ProcessSample process{std::move(facts), io_bytes_of(pid).value_or(0), {}};
  for (const int tid : numbers_in_folder(ProcPath(pid, "task").c_str()))
    process.threads.push_back(sample_thread(pid, tid));
  return process;
}

}  // namespace

TreeSample sample_tree(ProcessId root, TimePoint now, const ProcessTable& table) {
  TreeSample sample{now, {}};
  for (auto& facts : tree_of(root, table))
    sample.processes.push_back(sample_process(std::move(facts)));
  return sample;
}

}  // namespace safelaunch
