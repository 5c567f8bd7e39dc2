#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

#include "safelaunch/host/activity.h"
#include "safelaunch/host/cgroup.h"
#include "safelaunch/host/proc.h"

/// Each thread is read by short files of /proc, and the call in which it sleeps tells for what it
/// waits. A pipe is looked up among our other processes: where none of them has it open, only the
/// tree itself can write into it, and the wait is an inner one.
namespace safelaunch::host {
namespace {

/// How often the thread was put on a CPU: the third number of schedstat, a short file that needs no
/// rights.
std::uint64_t runs_of(int pid, int tid) {
  const SmallFile file{ProcPath(pid, tid, "schedstat")};
  auto rest = file.text();
  static_cast<void>(take_word(rest));  // nanoseconds on a CPU
  static_cast<void>(take_word(rest));  // nanoseconds waiting for one
  return number_in(rest);
}

/// "/dev/pts/3", "pipe:[71]", "socket:[72]". Reading the link touches no file system.
std::string target_of(int pid, int descriptor) {
  std::array<char, 256> target{};
  const auto size = ::readlink(ProcPath(pid, fmt::format("fd/{}", descriptor)).c_str(),
                               target.data(), target.size());
  return {target.data(), size > 0 ? static_cast<std::size_t>(size) : 0};
}

bool is_terminal(std::string_view target) {
  constexpr std::string_view kPseudo = "/dev/pts/", kReal = "/dev/tty";
  const auto digits = [](std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  };
  if (target == "/dev/console") return true;
  if (target.starts_with(kPseudo)) return digits(target.substr(kPseudo.size()));
  return target.starts_with(kReal) && digits(target.substr(kReal.size()));
}

/// The descriptors that an epoll descriptor watches: the lines "tfd: 0 events: …".
bool watches_terminal(int pid, int epoll) {
  const auto text = read_whole(ProcPath(pid, fmt::format("fdinfo/{}", epoll)).c_str());
  for (std::string_view rest = text ? std::string_view(*text) : std::string_view();
       !rest.empty();) {
    auto line = take_word(rest, '\n');
    if (take_word(line, ':') != "tfd") continue;
    line.remove_prefix(std::min(line.size(), line.find_first_not_of(' ')));
    if (is_terminal(target_of(pid, number_in<int>(line)))) return true;
  }
  return false;
}

/// Notes the input that the thread waits to read.
void look_at_input(int pid, const AwaitedInput& input, ThreadSample& thread) {
  if (input.is_epoll) {
    thread.at_terminal = watches_terminal(pid, input.descriptor);
    return;
  }
  const std::string target = target_of(pid, input.descriptor);
  thread.at_terminal = is_terminal(target);
  constexpr std::string_view kPipe = "pipe:[";
  if (target.starts_with(kPipe)) thread.pipe = number_in(target.substr(kPipe.size()));
  const bool unix_socket = target.starts_with("socket:[") && thread.waits_in.starts_with("unix_");
  thread.reads_local = thread.pipe != 0 || unix_socket;
  thread.reads_input = thread.reads_local && target == target_of(::getpid(), STDIN_FILENO);
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
  if (thread.state != 'S') return thread;
  const SmallFile call{ProcPath(pid, tid, "syscall")};
  thread.wait = kind_of_wait(call.text(), wchan.text());
  if (const auto input = awaited_input(call.text())) look_at_input(pid, *input, thread);
  return thread;
}

int tracer_of(int pid) {
  constexpr std::string_view kKey = "\nTracerPid:\t";
  const SmallFile status{ProcPath(pid, "status")};
  const auto at = status.text().find(kKey);
  return at == std::string_view::npos ? 0 : number_in<int>(status.text().substr(at + kKey.size()));
}

ProcessSample sample_process(ProcessFacts facts) {
  const int pid = facts.id.pid;
  ProcessSample process{std::move(facts), io_bytes_of(pid).value_or(0), tracer_of(pid), {}, {}};
  process.frozen = process.facts.state == 'D' && is_frozen(pid);
  for (const int tid : numbers_in_folder(ProcPath(pid, "task").c_str()))
    process.threads.push_back(sample_thread(pid, tid));
  if (process.tracer != 0)
    process.tracer_at_terminal = sample_thread(process.tracer, process.tracer).at_terminal;
  return process;
}

/// The pipes that processes of ours beside the tree have open. A pipe that came to the job from
/// outside is open in safelaunch, too, which has handed it on.
std::set<std::uint64_t> pipes_beside(const TreeSample& sample, const ProcessTable& table) {
  std::set<std::uint64_t> pipes;
  for (const ProcessFacts& process : tree_of(self(), table)) {
    const int pid = process.id.pid;
    if (std::ranges::any_of(sample.processes,
                            [&](const auto& one) { return one.facts.id == process.id; }))
      continue;
    for (const int descriptor : numbers_in_folder(ProcPath(pid, "fd").c_str()))
      if (const std::string target = target_of(pid, descriptor); target.starts_with("pipe:["))
        pipes.insert(number_in(std::string_view(target).substr(6)));
  }
  return pipes;
}

/// Marks the waits on pipes that nobody else has open as inner ones: only the tree itself can write
/// into them.
void find_own_pipes(TreeSample& sample, const ProcessTable& table) {
  std::optional<std::set<std::uint64_t>> beside;
  for (ProcessSample& process : sample.processes)
    for (ThreadSample& thread : process.threads) {
      if (thread.pipe == 0 || thread.wait != WaitKind::outer) continue;
      if (!beside) beside = pipes_beside(sample, table);
      if (!beside->contains(thread.pipe)) thread.wait = WaitKind::inner;
    }
}

}  // namespace

TreeSample sample_tree(ProcessId root, TimePoint now, const ProcessTable& table) {
  TreeSample sample{now, {}, false};
  for (auto& facts : tree_of(root, table))
    sample.processes.push_back(sample_process(std::move(facts)));
  find_own_pipes(sample, table);
  return sample;
}

void add_traffic(TreeSample& sample, const SocketTraffic& traffic) {
  constexpr std::string_view kSocket = "socket:[";
  sample.has_traffic = true;
  for (ProcessSample& process : sample.processes) {
    const int pid = process.facts.id.pid;
    for (const int descriptor : numbers_in_folder(ProcPath(pid, "fd").c_str())) {
      const std::string target = target_of(pid, descriptor);
      if (!target.starts_with(kSocket)) continue;
      const auto found = traffic.find(number_in(std::string_view(target).substr(kSocket.size())));
      if (found != traffic.end()) process.traffic.insert(*found);
    }
  }
}

}  // namespace safelaunch::host
