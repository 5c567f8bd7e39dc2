#include "safelaunch/ranks/nameless.h"

#include <algorithm>
#include <map>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/python_frames.h"
#include "safelaunch/host/ray_daemons.h"
#include "safelaunch/watch/python_stack.h"

namespace safelaunch::ranks {
namespace {

constexpr std::size_t kMostTold = 3;
constexpr std::size_t kLongestCommand = 60;

// An actor of Ray's is called by what it does; one that nobody has taken yet is idle.
bool may_be_a_rank(const host::ProcessFacts& one) {
  const bool is_actor = one.comm.starts_with("ray::") && one.comm != "ray::IDLE";
  if (!(is_actor || one.comm.starts_with("python")) || one.has_ended()) return false;
  const std::vector<std::string> command = host::command_line_of(one.id.pid);
  return !host::is_ray_daemon(one.comm, command) &&
         join(command, " ").find("from multiprocessing.") == std::string::npos;
}

std::string describe_stop(char state) {
  if (state == 'T') return ", stopped by a signal";
  return state == 't' ? ", held by a debugger" : "";
}

// "pid 71 (python train.py 1, stopped by a signal) in train.py:5 load".
std::string describe_process(int pid) {
  std::string command = join(host::command_line_of(pid), " ");
  const std::size_t name = command.rfind('/', command.find(' ')) + 1;
  command.erase(0, name);  // of the interpreter its name is enough
  const std::string place =
      watch::summarize({{"MainThread", host::python_frames(pid)}}, watch::Detail::with_package);
  return fmt::format("pid {} ({}{}){}{}", pid, trimmed(cut(printable(command), kLongestCommand)),
                     describe_stop(host::state_of(pid)), place.empty() ? "" : " in ", place);
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
  for (const int pid : pids)
    if (words.size() < kMostTold) words.push_back(describe_process(pid));
  if (words.empty()) return {};
  return fmt::format("{} {} not said which rank {} is", join(words, ", "),
                     words.size() == 1 ? "has" : "have", words.size() == 1 ? "it" : "each");
}

}  // namespace safelaunch::ranks
