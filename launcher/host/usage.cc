#include "safelaunch/host/usage.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "safelaunch/host/proc.h"

namespace safelaunch::host {

std::uint64_t resident_bytes_of(int pid) {
  const SmallFile file{ProcPath(pid, "statm")};
  auto rest = file.text();
  static_cast<void>(take_word(rest));  // the size of its address space
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return number_in(rest) * page;
}

std::optional<TreeUsage> usage_of(ProcessId root, TimePoint now, const ProcessTable& table) {
  const std::vector<ProcessFacts> tree = tree_of(root, table);
  if (tree.empty()) return std::nullopt;
  TreeUsage usage{.at = now, .age = tree.front().age};
  for (const ProcessFacts& process : tree) {
    usage.cpu += process.cpu;
    usage.pids.push_back(process.id.pid);
    (&process == &tree.front() ? usage.memory : usage.children) +=
        resident_bytes_of(process.id.pid);
  }
  return usage;
}

namespace {

int percent(std::chrono::duration<double> cpu, std::chrono::duration<double> wall) {
  if (wall.count() <= 0) return 0;
  return static_cast<int>(std::lround(100 * std::max(0.0, cpu.count()) / wall.count()));
}

}  // namespace

int cpu_percent(const TreeUsage& usage) {
  return percent(usage.cpu, usage.age);
}

int cpu_percent(const TreeUsage& before, const TreeUsage& after) {
  return percent(after.cpu - before.cpu, after.at - before.at);
}

}  // namespace safelaunch::host
