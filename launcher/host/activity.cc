#include "safelaunch/host/activity.h"

#include <algorithm>
#include <optional>
#include <span>

#include "safelaunch/base/format.h"

namespace safelaunch::host {
namespace {

/// Below this share of one core a process that polls or sleeps is not thought to work.
constexpr double kWorkingCores = 0.05;
/// A log line now and then is no work; a slow network disk still gives more than this.
constexpr double kWorkingBytesPerSecond = 256 * 1024;
/// A store that is asked a hundred times a second whether all are there, and heartbeats, stay
/// below.
constexpr double kWorkingTrafficPerSecond = 64 * 1024;

/// What both samples know of a thing, side by side.
template <class Sample>
struct Pair {
  const Sample* before = nullptr;  ///< null: it is new
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

/// The state as a new sentence would name it: which process it is about.
std::string place_of(const ProcessSample& process, const TreeSample& tree) {
  if (&process == &tree.processes.front()) return "";
  return fmt::format(" in a child ({}, pid {})", process.facts.comm, process.facts.id.pid);
}

/// A main thread names its process, and says something; others may be housekeeping.
bool tells(const ProcessSample& process, const ThreadSample& thread) {
  return thread.tid == process.facts.id.pid || !is_housekeeping(thread.comm);
}

using Answer = std::optional<ActivitySeen>;

/// How a process is kept from running at this moment; empty: it is not.
std::string_view halt_of(const ProcessSample& process) {
  if (process.facts.state == 'T') return "by a signal (state T)";
  if (process.threads.empty()) return {};
  // Cgroups freeze by a trap in their second version, in the first by uninterruptible sleep.
  const auto& function = process.threads.front().waits_in;
  const bool frozen = function == "do_freezer_trap" || function.ends_with("refrigerator");
  return frozen ? "by its cgroup (frozen)" : std::string_view();
}

/// A limiter of CPU stops its process and lets it go many times a second, and every look may find
/// it stopped: it has run in between.
bool has_run(const ProcessSample& before, const ProcessSample& after) {
  return before.facts.cpu != after.facts.cpu || before.threads.empty() || after.threads.empty() ||
         before.threads.front().runs != after.threads.front().runs;
}

Answer when_stopped(const ProcessPair& root) {
  const auto how = halt_of(*root.after);
  if (how.empty() || root.before == nullptr || halt_of(*root.before).empty() ||
      has_run(*root.before, *root.after))
    return std::nullopt;
  return ActivitySeen{Activity::stopped, std::string(how)};
}

/// A tracer may be a debugger, in which a person thinks; nobody types for hours at a prompt,
/// either.
Answer when_attended(const TreeSample& after) {
  for (const auto& process : after.processes) {
    if (process.tracer != 0 || process.facts.state == 't')
      return ActivitySeen{Activity::attended, "held by a debugger" + place_of(process, after)};
    if (std::ranges::any_of(process.threads, &ThreadSample::at_terminal))
      return ActivitySeen{Activity::attended,
                          "waits for somebody to type at the terminal" + place_of(process, after)};
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

/// A waited-for child's CPU and io are its parent's in the kernel's account, so the sum over the
/// tree grows by exactly what was done, whoever has ended meanwhile.
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
  for (const auto& [socket, count] : traffic_of(after)) {
    const auto older = then.find(socket);
    bytes +=
        static_cast<double>(count) - static_cast<double>(older == then.end() ? 0 : older->second);
  }
  const std::chrono::duration<double> seconds = after.at - before.at;
  if (seconds.count() <= 0 || bytes / seconds.count() < kWorkingTrafficPerSecond)
    return std::nullopt;
  return ActivitySeen{Activity::working,
                      fmt::format("sends and receives {:.1f} MB/s", bytes / seconds.count() / 1e6)};
}

/// Ready in both samples, and yet hardly any CPU: the host or its cgroup gives it none.
Answer when_starved(const std::vector<ProcessPair>& pairs, const TreeSample& tree) {
  for (const auto& [before, after] : pairs)
    for (const auto& thread : after->threads) {
      const auto* then = find_thread(before, thread.tid);
      if (then != nullptr && then->state == 'R' && thread.state == 'R' && tells(*after, thread))
        return ActivitySeen{Activity::working, "ready, but gets no CPU" + place_of(*after, tree)};
    }
  return std::nullopt;
}

Answer idling_thread(const ThreadSample* before, const ThreadSample& now,
                     const std::string& where) {
  const auto idling = [&](const char* pattern) {
    const auto& function = now.waits_in.empty() ? "the kernel" : now.waits_in;
    return ActivitySeen{Activity::idling, fmt::format(fmt::runtime(pattern), function) + where};
  };
  if (now.state == 'T') return ActivitySeen{Activity::idling, "stopped by a signal" + where};
  if (now.state == 'D') return idling("in uninterruptible sleep (state D) in {}");
  if (now.wait == WaitKind::lock) return idling("waiting for a file lock in {}");
  if (now.wait == WaitKind::timed) return idling("sleeping in {}");
  if (now.state == 'S' && now.wait == WaitKind::unknown)
    return idling("asleep in {}; for how long cannot be seen");
  if (before == nullptr || now.runs != before->runs) return idling("waking now and then in {}");
  if (now.wait == WaitKind::outer) return idling("waiting for something from outside in {}");
  return std::nullopt;
}

/// Main threads first: what they do is what a person wants to read.
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

bool awaits_local(const TreeSample& tree) {
  return std::ranges::any_of(tree.processes, [](const ProcessSample& process) {
    if (process.threads.empty()) return false;
    const ThreadSample& main = process.threads.front();
    return main.reads_local && main.wait == WaitKind::outer;
  });
}

ActivitySeen quiet(const TreeSample& after) {
  const auto& threads = after.processes.front().threads;
  const auto where = threads.empty() ? std::string() : threads.front().waits_in;
  return {Activity::quiet, where.empty()
                               ? "blocked, with nothing to wake it"
                               : fmt::format("blocked in {}, with nothing to wake it", where)};
}

}  // namespace

ActivitySeen classify(const TreeSample& before, const TreeSample& after) {
  if (after.processes.empty() || after.processes.front().facts.has_ended())
    return {Activity::dead, "its process has ended"};
  if (auto answer = when_attended(after)) return *answer;
  const auto pairs = pair_up(before, after);
  if (auto answer = when_stopped(pairs.front())) return *answer;
  if (after.processes.front().threads.empty()) return {Activity::unseen, "may not be looked at"};
  if (auto answer = when_children_work(std::span(pairs).subspan(1))) return *answer;
  if (auto answer = when_it_uses_resources(before, after)) return *answer;
  if (auto answer = when_it_has_traffic(before, after)) return *answer;
  if (auto answer = when_starved(pairs, after)) return *answer;
  if (auto answer = when_idling(pairs, after)) {
    answer->awaits_local = awaits_local(after);
    return *answer;
  }
  return quiet(after);
}

}  // namespace safelaunch::host
