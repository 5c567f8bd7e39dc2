#include "safelaunch/host/process_tree.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>

#include "safelaunch/host/proc.h"

// A tree is walked from its root along the lists of children, so parents come before their
// children, and a process that ends meanwhile is left out. Where /proc shows another pid namespace
// nothing is told, since its numbers belong to other processes.
namespace safelaunch::host {
namespace {

bool process_belongs_to(int pid, unsigned uid) {
  struct stat folder {};
  return ::stat(ProcPath(pid, "").c_str(), &folder) == 0 && folder.st_uid == uid;
}

}  // namespace

std::vector<int> pids_of(std::optional<unsigned> uid) {
  if (!proc_can_be_believed()) return {};
  auto pids = numbers_in_folder("/proc");
  // The owner first: on a shared host most processes are others', and stat(2) is the cheapest look.
  if (uid) std::erase_if(pids, [&](int pid) { return !process_belongs_to(pid, *uid); });
  return pids;
}

std::optional<ProcessFacts> Procfs::facts(int pid) const {
  return facts_of(pid);
}

std::vector<int> Procfs::children(int pid) const {
  if (!proc_can_be_believed()) return {};
  std::vector<int> children;
  for_each_child(pid, [&](int child) { children.push_back(child); });
  return children;
}

std::vector<ProcessFacts> Procfs::all(std::optional<unsigned> uid) const {
  std::vector<ProcessFacts> processes;
  for (const int pid : pids_of(uid))
    if (auto facts = facts_of(pid)) processes.push_back(std::move(*facts));
  return processes;
}

std::vector<ProcessFacts> tree_of(ProcessId root, const ProcessTable& table) {
  std::vector<ProcessFacts> tree;
  if (auto facts = table.facts(root.pid); facts && facts->id == root) tree.push_back(*facts);
  for (std::size_t parent = 0; parent < tree.size(); ++parent)
    for (const int pid : table.children(tree[parent].id.pid))
      if (auto facts = table.facts(pid)) tree.push_back(std::move(*facts));
  return tree;
}

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
