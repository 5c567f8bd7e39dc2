#include "launcherless.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <thread>

#include "safelaunch/base/format.h"
#include "safelaunch/host/gpus.h"

// A rank that waits looks like one that is dead, so nothing is judged by one look. CPU time, io,
// children and connections of the rank and of everything below it are read twice; any difference
// counts as work.
namespace safelaunch::clean {
namespace {

/// The sockets that any of the pids has open.
std::vector<host::Socket> sockets_of(std::span<const int> pids, std::vector<host::Socket> all) {
  if (pids.empty()) return {};
  std::vector<std::uint64_t> inodes;
  for (const host::Socket& socket : all)
    if (socket.inode != 0) inodes.push_back(socket.inode);
  const auto held = host::owners(inodes, pids);
  std::erase_if(all, [&](const host::Socket& socket) { return !held.contains(socket.inode); });
  return all;
}

/// The connections of the pids, and those to their ports that no process has accepted yet.
std::vector<host::Socket> connections_of(std::span<const int> pids,
                                         const std::vector<host::Socket>& listening,
                                         const std::vector<host::Socket>& established) {
  std::vector<host::Socket> connections = sockets_of(pids, established);
  for (const host::Socket& door : sockets_of(pids, listening))
    std::ranges::copy_if(established, std::back_inserter(connections),
                         [&](const host::Socket& peer) {
                           return peer.inode == 0 && peer.local_port == door.local_port;
                         });
  return connections;
}

void add(std::vector<std::string>& holds, std::string what) {
  if (std::ranges::find(holds, what) == holds.end()) holds.push_back(std::move(what));
}

Duration cpu_of(const host::TreeSample& tree) {
  return std::accumulate(
      tree.processes.begin(), tree.processes.end(), Duration{},
      [](Duration sum, const host::ProcessSample& p) { return sum + p.facts.cpu; });
}

std::uint64_t io_of(const host::TreeSample& tree) {
  return std::accumulate(
      tree.processes.begin(), tree.processes.end(), std::uint64_t{},
      [](std::uint64_t sum, const host::ProcessSample& p) { return sum + p.io_bytes; });
}

std::vector<int> pids_in(const host::TreeSample& tree) {
  std::vector<int> pids;
  for (const host::ProcessSample& process : tree.processes) pids.push_back(process.facts.id.pid);
  return pids;
}

}  // namespace

Work work_between(const host::TreeSample& before, const host::TreeSample& after,
                  std::span<const host::Socket> connections, bool has_gpu) {
  const host::ActivitySeen seen = host::classify(before, after);
  const bool may_rest = seen.activity == Activity::quiet || seen.activity == Activity::idling;
  if (!may_rest) return {false, fmt::format("{}: {}", name(seen.activity), seen.doing)};
  const char state = after.processes.front().facts.state;
  if (state == 'T' || state == 't') return {false, "it is stopped, by a person or a debugger"};
  if (after.processes.size() > 1)
    return {false, fmt::format("it has children (pid {})", after.processes[1].facts.id.pid)};
  if (cpu_of(after) != cpu_of(before)) return {false, "it uses some CPU"};
  if (io_of(after) != io_of(before)) return {false, "it reads or writes"};
  if (!connections.empty())
    return {false, fmt::format("it is connected to {}:{}", connections.front().remote_address,
                               connections.front().remote_port)};
  if (has_gpu) return {false, "it has a GPU open, which may work for it"};
  return {true, seen.doing};
}

void take_inventory(const std::vector<Candidate*>& ranks) {
  if (ranks.empty()) return;
  const std::vector<host::Socket> listening = host::KernelSockets().listening();
  for (Candidate* rank : ranks) {
    const std::array pid{rank->process.id.pid};
    for (const host::Socket& socket : sockets_of(pid, listening))
      add(rank->holds, fmt::format("port {}", socket.local_port));
    for (const int gpu : host::gpus_opened_by(pid[0]))
      add(rank->holds, fmt::format("/dev/nvidia{}", gpu));
  }
}

void watch_for_work(const std::vector<Candidate*>& ranks, Duration between) {
  if (ranks.empty()) return;
  const host::Procfs processes;
  std::vector<host::TreeSample> before;
  for (const Candidate* rank : ranks)
    before.push_back(host::sample_tree(rank->process.id, Clock::now(), processes));
  std::this_thread::sleep_for(between);
  const std::vector<host::Socket> listening = host::KernelSockets().listening();
  const std::vector<host::Socket> established = host::KernelSockets().established();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const host::TreeSample after = host::sample_tree(ranks[i]->process.id, Clock::now(), processes);
    const std::vector<int> pids = pids_in(after);
    const bool has_gpu =
        std::ranges::any_of(pids, [](int pid) { return !host::gpus_opened_by(pid).empty(); });
    ranks[i]->work =
        work_between(before[i], after, connections_of(pids, listening, established), has_gpu);
  }
}

}  // namespace safelaunch::clean
