#include "safelaunch/ranks/nameless.h"

#include <algorithm>
#include <map>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/ray_daemons.h"

namespace safelaunch::ranks {
namespace {

constexpr std::size_t kMostTold = 3;
constexpr std::size_t kLongestCommand = 60;

// An actor of Ray's is called by what it does; one that nobody has taken yet is idle.
bool may_be_a_rank(const host::ProcessFacts& one) {
  const bool is_actor = one.comm.starts_with("ray::") && one.comm != "ray::IDLE";
  return (is_actor || one.comm.starts_with("python")) && !one.has_ended() &&
         !host::is_ray_daemon(one.comm, host::command_line_of(one.id.pid));
}

std::string describe_stop(char state) {
  if (state == 'T') return ", stopped by a signal";
  return state == 't' ? ", held by a debugger" : "";
}

// "python train.py 1", or "python train.py 1, stopped by a signal".
std::string describe_process(int pid, std::string command) {
  const std::size_t name = command.rfind('/', command.find(' ')) + 1;
  command.erase(0, name);  // of the interpreter its name is enough
  return fmt::format("{}{}", trimmed(cut(printable(command), kLongestCommand)),
                     describe_stop(host::state_of(pid)));
}

}  // namespace

std::vector<int> nameless_below(ProcessId root, const std::set<ProcessId>& ranks,
                                const host::ProcessTable& table) {
  std::set<int> known{root.pid};
  const std::vector<host::ProcessFacts> tree = host::tree_of(root, table);
  std::map<int, int> parents;
  for (const host::ProcessFacts& one : tree) parents[one.id.pid] = one.parent;
  for (const ProcessId rank : ranks) {
    for (const host::ProcessFacts& below : host::tree_of(rank, table)) known.insert(below.id.pid);
    for (auto at = parents.find(rank.pid); at != parents.end(); at = parents.find(at->second))
      known.insert(at->first);
  }
  std::vector<int> pids;
  for (const host::ProcessFacts& one : tree)
    if (!known.contains(one.id.pid) && may_be_a_rank(one)) pids.push_back(one.id.pid);
  return pids;
}

bool python_has_started(const std::set<ProcessId>& ranks, ProcessId root,
                        const host::ProcessTable& table) {
  std::map<int, host::ProcessFacts> tree;
  for (const host::ProcessFacts& one : host::tree_of(root, table)) tree[one.id.pid] = one;
  return std::ranges::any_of(ranks, [&](ProcessId rank) {
    for (auto at = tree.find(rank.pid); at != tree.end() && at->first != root.pid;)
      if (at = tree.find(at->second.parent);
          at != tree.end() && at->first != root.pid && at->second.comm.starts_with("python"))
        return true;
    return false;
  });
}

std::string describe_nameless(const std::vector<int>& pids) {
  std::vector<std::string> words;
  for (const int pid : pids) {
    const std::string command = join(host::command_line_of(pid), " ");
    if (command.find("from multiprocessing.") != command.npos) continue;  // its own helpers
    if (words.size() < kMostTold)
      words.push_back(fmt::format("pid {} ({})", pid, describe_process(pid, command)));
  }
  if (words.empty()) return {};
  return fmt::format("{} {} not said which rank {} is", join(words, ", "),
                     words.size() == 1 ? "has" : "have", words.size() == 1 ? "it" : "each");
}

}  // namespace safelaunch::ranks
