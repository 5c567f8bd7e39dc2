#include <algorithm>

#include "safelaunch/watch/hook_message.h"  // kMostRanks
#include "safelaunch/watch/observer.h"

#include "safelaunch/base/strings.h"

namespace safelaunch::watch {
namespace {

std::optional<int> number_named(const Environment& environment, const char* name, int most) {
  const auto number = to_number(value_or(environment, name));
  return number && *number >= 0 && *number <= most ? number : std::nullopt;
}

bool any_starts_with(const std::vector<std::string>& names, std::string_view prefix) {
  return std::any_of(names.begin(), names.end(),
                     [&](const std::string& name) { return name.starts_with(prefix); });
}

bool is_spawned_child(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return word.find("multiprocessing.spawn import spawn_main") != std::string::npos;
  });
}

}  // namespace

Snapshot ProcessObserver::look(ProcessId root) {
  Snapshot snapshot;
  std::map<ProcessId, Known> still_there;
  for (const host::ProcessFacts& facts : host::tree_of(root, table_)) {
    if (facts.id == root) continue;
    const auto known = known_.find(facts.id);
    // With torch it is what it is, but for one that had not called exec yet: that one showed what
    // its parent is, torch and all.
    const bool settled = known != known_.end() && known->second.process.has_torch &&
                         known->second.words == host::command_line_of(facts.id.pid);
    Known now = settled ? known->second : read_anew(facts);
    now.process.parent = facts.parent;
    look_at_threads(now.process);
    snapshot.push_back(now.process);
    still_there.emplace(facts.id, std::move(now));
  }
  known_ = std::move(still_there);
  look_at_stores(snapshot);
  return snapshot;
}

std::optional<RankIdentity> identity_in(const Environment& environment) {
  const auto world_size = number_named(environment, "WORLD_SIZE", kMostRanks);
  const auto local_rank = number_named(environment, "LOCAL_RANK", kMostRanks - 1);
  if (const auto rank = number_named(environment, "RANK", kMostRanks - 1))
    return RankIdentity{Rank{*rank}, world_size, local_rank};
  // Lightning gives its own ranks no RANK: on the first node it is the local one.
  if (!local_rank || !world_size || value_or(environment, "NODE_RANK") != "0") return std::nullopt;
  return RankIdentity{Rank{*local_rank}, world_size, local_rank};
}

std::vector<ProcessOfRank> line_of(const ProcessOfRank& speaker, int parent, ProcessId root,
                                   const host::ProcessTable& table) {
  std::vector<ProcessOfRank> line{speaker};
  const auto still_there = table.facts(speaker.process.pid);
  if (still_there && still_there->id == speaker.process) parent = still_there->parent;
  for (auto facts = table.facts(parent); facts && facts->id.pid > 1 && facts->id != root;
       facts = table.facts(facts->parent)) {
    const auto environment = host::environment_of(facts->id.pid);
    line.push_back({facts->id, environment ? identity_in(*environment) : std::nullopt});
  }
  return line;
}

ProcessObserver::Known ProcessObserver::read_anew(const host::ProcessFacts& facts) const {
  std::vector<std::string> words = host::command_line_of(facts.id.pid);
  SeenProcess process = read(facts, words);
  return {std::move(process), std::move(words)};
}

SeenProcess ProcessObserver::read(const host::ProcessFacts& facts,
                                  const std::vector<std::string>& words) const {
  SeenProcess process{.id = facts.id, .rank = {}, .world_size = {}};
  process.spawned_child = is_spawned_child(words);
  const Environment environment = host::environment_of(facts.id.pid).value_or(Environment{});
  if (const auto identity = identity_in(environment)) process.rank = identity->rank;
  process.world_size = number_named(environment, "WORLD_SIZE", kMostRanks);
  constexpr int kLastPort = 65'535;
  const auto port = number_named(environment, "MASTER_PORT", kLastPort);
  process.store_port = static_cast<std::uint16_t>(port.value_or(0));
  process.has_torch = host::maps_contain(facts.id.pid, "libtorch_cpu.so");
  return process;
}

void ProcessObserver::look_at_threads(SeenProcess& process) const {
  if (!process.has_torch || process.has_group) return;
  const std::vector<std::string> threads = host::thread_names_of(process.id.pid);
  process.makes_group |= any_starts_with(threads, "gloo_tcp_loop");
  // A script that sets MASTER_PORT inside its ranks hides it; the store's own thread does not.
  if (process.store_port == 0) process.hosts_store = any_starts_with(threads, "pt_tcpstore");
  process.has_group |=
      any_starts_with(threads, "pt_gloo_runloop") || any_starts_with(threads, "pt_nccl_watchd");
}

void ProcessObserver::look_at_stores(Snapshot& snapshot) const {
  std::map<std::uint16_t, std::vector<SeenProcess*>> by_port;
  for (SeenProcess& process : snapshot)
    if (process.store_port != 0 && process.has_torch && !process.has_group)
      by_port[process.store_port].push_back(&process);
  for (const auto& [port, processes] : by_port) {
    std::vector<std::uint64_t> listening;
    std::vector<std::uint64_t> connected;
    std::vector<int> pids;
    for (const SeenProcess* process : processes) pids.push_back(process->id.pid);
    for (const host::Socket& socket : sockets_.on_port(port))
      if (socket.state == host::SocketState::listening) listening.push_back(socket.inode);
    for (const host::Socket& socket : sockets_.to_port(port)) connected.push_back(socket.inode);
    const auto holds = [](const auto& held, int pid) {
      return std::any_of(held.begin(), held.end(), [pid](const auto& one) {
        return std::find(one.second.begin(), one.second.end(), pid) != one.second.end();
      });
    };
    const auto hosts = host::owners(listening, pids);
    const auto clients = host::owners(connected, pids);
    for (SeenProcess* process : processes) {
      process->hosts_store = holds(hosts, process->id.pid);
      process->meets_store = holds(clients, process->id.pid);
    }
  }
}

}  // namespace safelaunch::watch
