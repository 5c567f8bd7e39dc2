#include "safelaunch/host/activity.h"

#include <algorithm>
#include <span>

#include "safelaunch/base/format.h"

/// The rules are asked in the order of classify(): the first that has an answer wins. They go from
/// facts that leave no doubt (the process has ended, a debugger holds it, it is stopped) over signs
/// of work (children, CPU, files, connections) to the kinds of waiting. A tree for which no rule
/// answers is quiet: each of its threads is blocked until another one acts.
namespace safelaunch::host {
namespace {

/// A process that uses less than this share of one core polls or sleeps, and does not work.
constexpr double kWorkingCores = 0.05;
/// A log line now and then is no work; a slow network disk still gives more than this.
constexpr double kWorkingBytesPerSecond = 256 * 1024;
/// Heartbeats stay below both of these: the bytes, and the answers that come. A rank that asks a
/// database or an object store for one small thing after the other moves hardly any bytes.
constexpr double kWorkingTrafficPerSecond = 64 * 1024;
constexpr double kWorkingAnswersPerSecond = 10;

/// A process or thread in both samples, side by side.
template <class Sample>
struct Pair {
  const Sample* before = nullptr;  ///< nullptr: it is new
  const Sample* after = nullptr;
};

using ProcessPair = Pair<ProcessSample>;

std::vector<ProcessPair> pair_up(const TreeSample& before, const TreeSample& after) {
  std::vector<ProcessPair> pairs;
  for (const auto& now : after.processes) {
    const auto then = std::ranges::find(before.processes, now.facts.id,
                                        [](const ProcessSample& p) { return p.facts.id; });
    pairs.push_back({then == before.processes.end() ? nullptr : &*then, &now});
  }
  return pairs;
}

const ThreadSample* find_thread(const ProcessSample* process, int tid) {
  if (process == nullptr) return nullptr;
  const auto thread = std::ranges::find(process->threads, tid, &ThreadSample::tid);
  return thread == process->threads.end() ? nullptr : &*thread;
}

/// The words that tell of which process a sentence speaks.
std::string place_of(const ProcessSample& process, const TreeSample& tree) {
  if (&process == &tree.processes.front()) return "";
  return fmt::format(" in a child ({}, pid {})", process.facts.comm, process.facts.id.pid);
}

/// Whether the thread's activity says something. A main thread has the name of its process and
/// always counts; others may be housekeeping.
bool tells(const ProcessSample& process, const ThreadSample& thread) {
  return thread.tid == process.facts.id.pid || !is_housekeeping(thread.comm);
}

using Answer = std::optional<ActivitySeen>;

/// The means by which a process is kept from running at this moment; empty where it is not.
std::string halt_of(const ProcessSample& process) {
  if (process.facts.state == 'T')
    return fmt::format("by a signal (pid {}, state T)", process.facts.id.pid);
  if (process.threads.empty()) return {};
  // Cgroups of version 2 freeze by a trap, those of version 1 by uninterruptible sleep, in which
  // older kernels show a function of their own.
  const auto& function = process.threads.front().waits_in;
  const bool trapped = function == "do_freezer_trap" || function.ends_with("refrigerator");
  return trapped || process.frozen ? "by its cgroup (frozen)" : "";
}

/// Whether the process ran between the samples. A limiter of CPU stops its process and lets it go
/// many times a second, so every look may find it stopped.
bool has_run(const ProcessSample& before, const ProcessSample& after) {
  return before.facts.cpu != after.facts.cpu || before.threads.empty() || after.threads.empty() ||
         before.threads.front().runs != after.threads.front().runs;
}

Answer when_stopped(const ProcessPair& root) {
  std::string how = halt_of(*root.after);
  if (how.empty() || root.before == nullptr || halt_of(*root.before).empty() ||
      has_run(*root.before, *root.after))
    return std::nullopt;
  return ActivitySeen{Activity::stopped, std::move(how)};
}

/// A limiter of CPU (cpulimit) leaves a rank less than any threshold of work, and the rest of its
/// work takes it so much longer.
Answer when_limited(const ProcessPair& root) {
  if (root.before == nullptr || !has_run(*root.before, *root.after)) return std::nullopt;
  if (root.before->facts.state != 'T' && root.after->facts.state != 'T') return std::nullopt;
  return ActivitySeen{Activity::working, "is stopped and continued again and again"};
}

bool is_held(const ProcessSample& process) {
  return process.facts.state == 't' || (process.tracer != 0 && process.facts.state == 'T');
}

/// strace stops its process at every call and lets it go on by itself: only one that stays held, or
/// whose tracer asks somebody, is in a person's hands.
bool is_in_a_debugger(const ProcessPair& process) {
  if (process.after->tracer_at_terminal) return true;
  return is_held(*process.after) && process.before != nullptr && is_held(*process.before) &&
         !has_run(*process.before, *process.after);
}

/// A thread beside the main one may listen to the keyboard all the time ("press q to quit"). It is
/// waited for where the main thread waits for a thread of its own.
bool waits_for_the_terminal(const ProcessSample& process) {
  if (process.threads.empty()) return false;
  const ThreadSample& main = process.threads.front();
  if (main.at_terminal) return true;
  return main.wait == WaitKind::inner &&
         std::ranges::any_of(process.threads, &ThreadSample::at_terminal);
}

/// A person thinks before a debugger, and a prompt may wait for hours, too.
Answer when_attended(const std::vector<ProcessPair>& pairs, const TreeSample& tree) {
  for (const ProcessPair& process : pairs) {
    if (is_in_a_debugger(process))
      return ActivitySeen{Activity::attended,
                          "held by a debugger" + place_of(*process.after, tree)};
    if (waits_for_the_terminal(*process.after))
      return ActivitySeen{Activity::attended, "waits for somebody to type at the terminal" +
                                                  place_of(*process.after, tree)};
  }
  return std::nullopt;
}

Answer when_children_work(std::span<const ProcessPair> children) {
  for (const auto& [before, after] : children) {
    const auto& comm = after->facts.comm;
    const bool progresses =
        before == nullptr || after->facts.cpu > before->facts.cpu || after->facts.state == 'R';
    if (is_compiler(comm) && progresses && !after->facts.has_ended())
      return ActivitySeen{Activity::working, fmt::format("{} compiles in a child (pid {})", comm,
                                                         after->facts.id.pid)};
    // A shell's retry loop starts a new sleep every time: that is no work.
    if (before == nullptr && comm != "sleep")
      return ActivitySeen{Activity::working,
                          fmt::format("starts children ({}, pid {})", comm, after->facts.id.pid)};
  }
  return std::nullopt;
}

/// The kernel adds the CPU and io of a waited-for child to its parent's. So the sum over the tree
/// grows by exactly the work that was done, even where processes have ended meanwhile.
template <class Amount>
double growth(const TreeSample& before, const TreeSample& after, Amount amount) {
  double sum = 0;
  for (const auto& process : after.processes) sum += amount(process);
  for (const auto& process : before.processes) sum -= amount(process);
  const std::chrono::duration<double> seconds = after.at - before.at;
  return seconds.count() > 0 ? sum / seconds.count() : 0;
}

Answer when_it_uses_resources(const TreeSample& before, const TreeSample& after) {
  const double cores = growth(before, after, [](const ProcessSample& process) {
    return std::chrono::duration<double>(process.facts.cpu).count();
  });
  if (cores >= kWorkingCores)
    return ActivitySeen{Activity::working, fmt::format("uses {:.0f} % of a CPU", cores * 100)};
  const double bytes = growth(before, after, [](const ProcessSample& process) {
    return static_cast<double>(process.io_bytes);
  });
  if (bytes >= kWorkingBytesPerSecond)
    return ActivitySeen{Activity::working,
                        fmt::format("reads and writes {:.1f} MB/s", bytes / 1e6)};
  return std::nullopt;
}

SocketTraffic traffic_of(const TreeSample& tree) {
  SocketTraffic traffic;  // a connection that several processes have open is one
  for (const auto& process : tree.processes)
    traffic.insert(process.traffic.begin(), process.traffic.end());
  return traffic;
}

Answer when_it_has_traffic(const TreeSample& before, const TreeSample& after) {
  if (!before.has_traffic || !after.has_traffic) return std::nullopt;
  const SocketTraffic then = traffic_of(before);
  double bytes = 0;
  double answers = 0;
  for (const auto& [socket, now] : traffic_of(after)) {
    const auto known = then.find(socket);
    const ConnectionTraffic older = known == then.end() ? ConnectionTraffic{} : known->second;
    bytes += static_cast<double>(now.bytes) - static_cast<double>(older.bytes);
    answers += static_cast<double>(now.answers) - static_cast<double>(older.answers);
  }
  const double seconds = std::chrono::duration<double>(after.at - before.at).count();
  if (seconds <= 0) return std::nullopt;
  if (bytes / seconds >= kWorkingTrafficPerSecond)
    return ActivitySeen{Activity::working,
                        fmt::format("sends and receives {:.1f} MB/s", bytes / seconds / 1e6)};
  if (answers / seconds >= kWorkingAnswersPerSecond)
    return ActivitySeen{Activity::working,
                        fmt::format("gets {:.0f} answers a second", answers / seconds)};
  return std::nullopt;
}

/// A thread that is ready in both samples and has used hardly any CPU gets none from the host or
/// its cgroup.
Answer when_starved(const std::vector<ProcessPair>& pairs, const TreeSample& tree) {
  for (const auto& [before, after] : pairs)
    for (const auto& thread : after->threads) {
      const auto* then = find_thread(before, thread.tid);
      if (then != nullptr && then->state == 'R' && thread.state == 'R' && tells(*after, thread))
        return ActivitySeen{Activity::working, "ready, but gets no CPU" + place_of(*after, tree)};
    }
  return std::nullopt;
}

/// What a thread does in a function of the kernel (Linux 5.10 to 6.18), as a person would say it; a
/// function that is not known stands for itself.
std::string plain_wait(std::string_view function) {
  struct Known {
    std::string_view begins;
    std::string_view plain;
  };
  constexpr std::array kKnown{Known{"futex_", "a lock between threads"},
                              Known{"poll_schedule_timeout", "a poll"},
                              Known{"do_poll", "a poll"},
                              Known{"do_select", "a poll"},
                              Known{"ep_poll", "a poll"},
                              Known{"do_epoll_wait", "a poll"},
                              Known{"pipe_read", "a read of a pipe"},
                              Known{"anon_pipe_read", "a read of a pipe"},
                              Known{"wait_woken", "a read of a socket"},
                              Known{"inet_csk_accept", "accept()"},
                              Known{"unix_stream_", "a read of a local socket"},
                              Known{"do_wait", "a wait for a child"},
                              Known{"do_sigtimedwait", "a wait for a signal"},
                              Known{"sigsuspend", "a wait for a signal"},
                              Known{"n_tty_read", "a read of the terminal"}};
  const auto known = std::ranges::find_if(
      kKnown, [&](const Known& one) { return function.starts_with(one.begins); });
  if (known != kKnown.end()) return std::string(known->plain);
  return function.empty() ? "the kernel" : std::string(function);
}

bool is_plain_sleep(std::string_view function) {
  return function == "hrtimer_nanosleep" || function == "do_nanosleep";
}

Answer idling_thread(const ThreadSample* before, const ThreadSample& now,
                     const std::string& where) {
  const auto idling = [&](const char* pattern) {
    return ActivitySeen{Activity::idling,
                        fmt::format(fmt::runtime(pattern), plain_wait(now.waits_in)) + where};
  };
  if (now.state == 'T') return ActivitySeen{Activity::idling, "stopped by a signal" + where};
  if (now.state == 'D')
    return ActivitySeen{Activity::idling,
                        fmt::format("in uninterruptible sleep (state D) in {}{}",
                                    now.waits_in.empty() ? "the kernel" : now.waits_in, where)};
  if (now.wait == WaitKind::lock) return idling("waiting for a file lock in {}");
  if (now.wait == WaitKind::timed)
    return idling(is_plain_sleep(now.waits_in) ? "sleeping" : "sleeping in {}");
  if (now.state == 'S' && now.wait == WaitKind::unknown)
    return idling("asleep in {}; for how long cannot be seen");
  if (before == nullptr || now.runs != before->runs) return idling("waking now and then in {}");
  if (now.wait == WaitKind::outer) return idling("waiting for something from outside in {}");
  return std::nullopt;
}

/// Main threads come first: a person wants to read of them.
Answer when_idling(const std::vector<ProcessPair>& pairs, const TreeSample& tree) {
  Answer later;
  for (const auto& [before, after] : pairs)
    for (const auto& thread : after->threads) {
      if (!tells(*after, thread) || thread.state == 'Z') continue;
      auto answer = idling_thread(find_thread(before, thread.tid), thread, place_of(*after, tree));
      if (!answer) continue;
      if (thread.tid == after->facts.id.pid) return answer;
      if (!later) later = std::move(answer);
    }
  return later;
}

/// Whether a main thread of the tree reads what only somebody outside of it can write.
bool awaits(const TreeSample& tree, bool ThreadSample::*what) {
  return std::ranges::any_of(tree.processes, [what](const ProcessSample& process) {
    if (process.threads.empty()) return false;
    const ThreadSample& main = process.threads.front();
    return main.*what && main.wait == WaitKind::outer;
  });
}

ActivitySeen quiet(const TreeSample& after) {
  const auto& threads = after.processes.front().threads;
  const auto where = threads.empty() ? std::string() : threads.front().waits_in;
  return {Activity::quiet,
          where.empty() ? "blocked, with nothing to wake it"
                        : fmt::format("blocked in {}, with nothing to wake it", plain_wait(where))};
}

}  // namespace

ActivitySeen classify(const TreeSample& before, const TreeSample& after) {
  if (after.processes.empty() || after.processes.front().facts.has_ended())
    return {Activity::dead, "its process has ended"};
  const auto pairs = pair_up(before, after);
  if (auto answer = when_attended(pairs, after)) return *answer;
  if (auto answer = when_stopped(pairs.front())) return *answer;
  if (after.processes.front().threads.empty()) return {Activity::unseen, "may not be looked at"};
  if (auto answer = when_children_work(std::span(pairs).subspan(1))) return *answer;
  if (auto answer = when_it_uses_resources(before, after)) return *answer;
  if (auto answer = when_it_has_traffic(before, after)) return *answer;
  if (auto answer = when_starved(pairs, after)) return *answer;
  if (auto answer = when_limited(pairs.front())) return *answer;
  if (auto answer = when_idling(pairs, after)) {
    answer->awaits_local = awaits(after, &ThreadSample::reads_local);
    answer->awaits_input = awaits(after, &ThreadSample::reads_input);
    return *answer;
  }
  return quiet(after);
}

namespace {

/// The kernel cuts names to 15 bytes. All but `safelaunch` (our hook) were seen in torch 2.13,
/// gloo, NCCL 2.28, CUDA 12 and JAX 0.10; gloo_tcp_loop wakes a hundred times a second in a hung
/// job.
constexpr std::string_view kHousekeeping[] = {
    "safelaunch",     "pt_tcpstore", "pt_nccl",     "pt_gloo", "gloo_tcp_loop", "NCCL ",
    "cuda-EvtHandlr", "cuda0000",    "jemalloc_bg", "grpc",    "event_engine",  "timer_manager",
};

constexpr std::string_view kCompilers[] = {
    "as",    "c++",     "c++filt", "cc",       "cc1",      "cc1plus",   "ccache", "cicc",
    "clang", "clang++", "cmake",   "collect2", "cudafe++", "fatbinary", "g++",    "gcc",
    "hipcc", "ld",      "ld.bfd",  "ld.gold",  "ld.lld",   "lld",       "lto1",   "make",
    "mold",  "ninja",   "nvcc",    "nvlink",   "ptxas",    "rustc",
};

}  // namespace

bool is_housekeeping(std::string_view thread_comm) {
  return std::ranges::any_of(kHousekeeping,
                             [&](auto name) { return thread_comm.starts_with(name); });
}

bool is_compiler(std::string_view comm) {
  // "gcc-12" and "clang-14" are found by their first part. "x86_64-linux-gnu-g++", cut to 15 bytes,
  // is not, but the cc1plus below it is.
  const auto plain = comm.substr(0, comm.find('-'));
  return std::ranges::find(kCompilers, plain) != std::end(kCompilers);
}

namespace {

/// For comparison: a loop that looks for a file ten times a second uses a thousandth of a CPU. One
/// that asks for a lock twenty times a second, as torch's builds of extensions do (filelock), uses
/// a hundredth and more.
constexpr double kMostCores = 0.01;
constexpr double kMostCoresOfPolling = 0.03;
constexpr double kMostBytesPerSecond = 4096;

/// Found asleep for a time that it has set itself.
bool polls(const TreeSample& tree) {
  const auto& threads = tree.processes.front().threads;
  return !threads.empty() && threads.front().wait == WaitKind::timed;
}

bool is_new(const ProcessSample& process, const TreeSample& before) {
  return std::ranges::none_of(
      before.processes, [&](const ProcessSample& one) { return one.facts.id == process.facts.id; });
}

// A shell's retry loop starts a new sleep every time.
bool has_started_something(const TreeSample& before, const TreeSample& after) {
  return std::ranges::any_of(after.processes, [&](const ProcessSample& process) {
    return process.facts.comm != "sleep" && is_new(process, before);
  });
}

struct Used {
  double seconds = 0;
  double bytes = 0;
};

Used used_by(const TreeSample& tree) {
  Used used;
  for (const ProcessSample& process : tree.processes) {
    used.seconds += std::chrono::duration<double>(process.facts.cpu).count();
    used.bytes += static_cast<double>(process.io_bytes);
  }
  return used;
}

}  // namespace

std::optional<std::string> stood_still(const TreeSample& before, const TreeSample& after) {
  if (before.processes.empty() || after.processes.empty() || has_started_something(before, after))
    return std::nullopt;
  const double elapsed = std::chrono::duration<double>(after.at - before.at).count();
  const Used then = used_by(before);
  const Used now = used_by(after);
  const double most_cores = polls(before) && polls(after) ? kMostCoresOfPolling : kMostCores;
  if (now.seconds - then.seconds > most_cores * elapsed ||
      now.bytes - then.bytes > kMostBytesPerSecond * elapsed)
    return std::nullopt;
  const ActivitySeen seen = classify(before, after);
  if (seen.activity != Activity::quiet && seen.activity != Activity::idling) return std::nullopt;
  return seen.doing;
}

}  // namespace safelaunch::host
