#include "safelaunch/watch/observer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "safelaunch/base/strings.h"
#include "safelaunch/watch/hook_message.h"  // kMostRanks

// The processes come parents first, so one pass gives each its rank: that of the nearest process
// above, else its own. The signs of all processes of a rank are added up before they become events.
// Without a rank in any environment the siblings of one spawn are counted in the order of their
// start: the first such siblings, or those of which one has told its rank.
namespace safelaunch::watch {
namespace {

void add(SeenProcess& sum, const SeenProcess& one) {
  sum.has_torch |= one.has_torch;
  sum.hosts_store |= one.hosts_store;
  sum.meets_store |= one.meets_store;
  sum.makes_group |= one.makes_group;
  sum.has_group |= one.has_group;
}

std::vector<SeenRank> ranks_by_environment(const Snapshot& snapshot) {
  std::vector<SeenRank> ranks;
  std::map<int, std::size_t> rank_of_pid;  // pid → its rank's place in `ranks`
  for (const SeenProcess& process : snapshot) {
    const auto above = rank_of_pid.find(process.parent);
    if (above != rank_of_pid.end()) {
      rank_of_pid[process.id.pid] = above->second;
      add(ranks[above->second].shows, process);
    } else if (process.rank) {
      rank_of_pid[process.id.pid] = ranks.size();
      ranks.push_back({*process.rank, process});
    }
  }
  return ranks;
}

// The children of each process that has spawned at least two, in the order of their start.
std::vector<std::vector<SeenRank>> spawned_siblings(const Snapshot& snapshot) {
  std::map<int, std::vector<SeenRank>> by_parent;
  for (const SeenProcess& process : snapshot)
    if (process.spawned_child) by_parent[process.parent].push_back({Rank{}, process});
  std::vector<std::vector<SeenRank>> all;
  for (const SeenProcess& process : snapshot) {
    std::vector<SeenRank>& siblings = by_parent[process.id.pid];
    if (siblings.size() < 2) continue;
    std::ranges::sort(siblings, {}, [](const SeenRank& one) {
      return std::pair(one.shows.id.start_ticks, one.shows.id.pid);
    });
    for (std::size_t i = 0; i < siblings.size(); ++i) siblings[i].rank.value = static_cast<int>(i);
    all.push_back(std::move(siblings));
  }
  return all;
}

std::vector<SeenRank> ranks_by_order(const Snapshot& snapshot,
                                     const std::map<ProcessId, Rank>& hooked) {
  const bool somebody_speaks = std::ranges::any_of(
      snapshot, [&](const SeenProcess& process) { return hooked.contains(process.id); });
  for (const std::vector<SeenRank>& siblings : spawned_siblings(snapshot)) {
    const auto agrees = [&](const SeenRank& one) {
      const auto said = hooked.find(one.shows.id);
      return said == hooked.end() || said->second == one.rank;
    };
    const auto speaks = [&](const SeenRank& one) { return hooked.contains(one.shows.id); };
    if (somebody_speaks && std::ranges::none_of(siblings, speaks)) continue;
    if (!std::ranges::all_of(siblings, agrees)) return {};
    return siblings;
  }
  return {};
}

std::optional<int> number_named(const Environment& environment, const char* name, int most) {
  const auto number = to_number(value_or(environment, name));
  return number && *number >= 0 && *number <= most ? number : std::nullopt;
}

int store_port_in(const Environment& environment) {
  constexpr int kLastPort = 65'535;
  return number_named(environment, "MASTER_PORT", kLastPort).value_or(0);
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

// SGLang spawns these beside its ranks.
bool calls_itself_no_rank(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 3> kTitles{
      "sglang::detokenizer", "sglang::data_parallel_controller", "sglang::tokenizer_worker"};
  return !words.empty() && std::ranges::any_of(kTitles, [&](std::string_view title) {
    return words.front().starts_with(title);
  });
}

}  // namespace

std::optional<ProcessId> topmost_of_rank(std::span<const ProcessOfRank> line) {
  if (line.empty() || !line.front().identity) return std::nullopt;
  ProcessId topmost = line.front().process;
  for (const ProcessOfRank& one : line)
    if (one.identity == line.front().identity) topmost = one.process;
  return topmost;
}

std::vector<Event> Observer::on(const Snapshot& snapshot, const std::map<ProcessId, Rank>& hooked,
                                int world_size) {
  std::vector<SeenRank> ranks = ranks_by_environment(snapshot);
  const bool guessed = ranks.empty();
  if (guessed) ranks = ranks_by_order(snapshot, hooked);
  if (guessed && world_size > 0)
    std::erase_if(ranks, [&](const SeenRank& one) { return one.rank.value >= world_size; });
  withdraw(snapshot, ranks, hooked);
  std::vector<Event> events;
  for (const auto& [rank, shows] : ranks) {
    if (hooked.contains(shows.id)) continue;
    const auto [known, fresh] = told_.try_emplace(rank, Told{shows.id, guessed, {}, {}});
    Told& told = known->second;
    if (fresh || told.process != shows.id) {
      told = {shows.id, guessed, {}, {}};
      events.push_back(RankStarted{rank, shows.id, shows.world_size, Source::proc});
    }
    const auto entered = [&, rank = rank, id = shows.id](bool seen, Stage stage) {
      if (seen && told.entered.insert(stage).second)
        events.push_back(StageEntered{rank, id, stage, {}, std::nullopt, Source::proc});
    };
    const auto reached = [&, rank = rank, id = shows.id](bool seen, Stage stage) {
      if (seen && told.reached.insert(stage).second)
        events.push_back(StageReached{rank, id, stage, Source::proc});
    };
    reached(shows.has_torch, Stage::imported);
    entered(shows.hosts_store, Stage::rendezvous);
    // The rank that hosts the store meets itself there at once, and waits for the others: it is in
    // init_process_group, and not yet through the rendezvous.
    reached(shows.makes_group || (shows.meets_store && !shows.hosts_store), Stage::rendezvous);
    entered(shows.makes_group || shows.hosts_store, Stage::group);
    reached(shows.has_group, Stage::group);
  }
  return events;
}

// What was guessed to be a rank, still is there, and is none any more. Whoever has said its rank by
// now is known by that.
void Observer::withdraw(const Snapshot& snapshot, std::span<const SeenRank> ranks,
                        const std::map<ProcessId, Rank>& hooked) {
  std::erase_if(told_, [&](const auto& one) {
    const ProcessId process = one.second.process;
    if (!one.second.guessed || hooked.contains(process)) return false;
    const auto is_it = [&](const auto& seen) { return seen.id == process; };
    const bool still_is =
        std::ranges::any_of(ranks, [&](const SeenRank& seen) { return seen.shows.id == process; });
    if (still_is || std::ranges::none_of(snapshot, is_it)) return false;
    withdrawn_.push_back(process);
    return true;
  });
}

std::vector<ProcessId> Observer::take_withdrawn(int world_size,
                                                const std::map<ProcessId, Rank>& hooked) {
  std::erase_if(told_, [&](const auto& one) {
    const auto& [rank, told] = one;
    const bool too_many = told.guessed && world_size > 0 && rank.value >= world_size;
    if (!too_many || hooked.contains(told.process)) return false;
    withdrawn_.push_back(told.process);
    return true;
  });
  return std::exchange(withdrawn_, {});
}

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
    if (known != known_.end()) keep_kind(known->second, now);
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
  if (still_there && still_there->id == speaker.process) {
    parent = still_there->parent;
    const auto environment = host::environment_of(speaker.process.pid);
    if (environment) line.front().store_port = store_port_in(*environment);
  }
  for (auto facts = table.facts(parent); facts && facts->id.pid > 1 && facts->id != root;
       facts = table.facts(facts->parent)) {
    const auto environment = host::environment_of(facts->id.pid);
    line.push_back({facts->id, environment ? identity_in(*environment) : std::nullopt,
                    environment ? store_port_in(*environment) : 0});
  }
  return line;
}

// A spawned child may give itself a title (vLLM's workers do), and no two looks come between a fork
// and its exec.
void ProcessObserver::keep_kind(const Known& before, Known& now) {
  now.seen_twice = before.seen_twice || now.words == before.words;
  if (before.seen_twice && !calls_itself_no_rank(now.words))
    now.process.spawned_child |= before.process.spawned_child;
}

ProcessObserver::Known ProcessObserver::read_anew(const host::ProcessFacts& facts) const {
  std::vector<std::string> words = host::command_line_of(facts.id.pid);
  SeenProcess process = read(facts, words);
  return {process, std::move(words), false};
}

SeenProcess ProcessObserver::read(const host::ProcessFacts& facts,
                                  const std::vector<std::string>& words) const {
  SeenProcess process{.id = facts.id, .rank = {}, .world_size = {}};
  process.spawned_child = is_spawned_child(words);
  const Environment environment = host::environment_of(facts.id.pid).value_or(Environment{});
  if (const auto identity = identity_in(environment)) process.rank = identity->rank;
  process.world_size = number_named(environment, "WORLD_SIZE", kMostRanks);
  process.store_port = static_cast<std::uint16_t>(store_port_in(environment));
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
