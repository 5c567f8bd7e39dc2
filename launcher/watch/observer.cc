#include "safelaunch/watch/observer.h"

#include <algorithm>
#include <utility>

namespace safelaunch::watch {
namespace {

// A rank and what the processes at and below its topmost one show together.
struct SeenRank {
  Rank rank;
  SeenProcess shows;
};

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

// The children of the first process that has spawned at least two, in the order of their start.
std::vector<SeenProcess> spawned_siblings(const Snapshot& snapshot) {
  std::map<int, std::vector<SeenProcess>> by_parent;
  for (const SeenProcess& process : snapshot)
    if (process.spawned_child) by_parent[process.parent].push_back(process);
  for (const SeenProcess& process : snapshot) {
    std::vector<SeenProcess>& siblings = by_parent[process.id.pid];
    if (siblings.size() < 2) continue;
    std::sort(siblings.begin(), siblings.end(), [](const auto& a, const auto& b) {
      return std::pair(a.id.start_ticks, a.id.pid) < std::pair(b.id.start_ticks, b.id.pid);
    });
    return siblings;
  }
  return {};
}

std::vector<SeenRank> ranks_by_order(const Snapshot& snapshot,
                                     const std::map<ProcessId, Rank>& hooked) {
  std::vector<SeenRank> ranks;
  for (const SeenProcess& process : spawned_siblings(snapshot)) {
    const Rank guess{static_cast<int>(ranks.size())};
    const auto said = hooked.find(process.id);
    if (said != hooked.end() && said->second != guess) return {};
    ranks.push_back({guess, process});
  }
  return ranks;
}

}  // namespace

std::optional<ProcessId> topmost_of_rank(std::span<const ProcessOfRank> line) {
  if (line.empty() || !line.front().identity) return std::nullopt;
  ProcessId topmost = line.front().process;
  for (const ProcessOfRank& one : line)
    if (one.identity == line.front().identity) topmost = one.process;
  return topmost;
}

std::vector<Event> Observer::on(const Snapshot& snapshot, const std::map<ProcessId, Rank>& hooked) {
  std::vector<SeenRank> ranks = ranks_by_environment(snapshot);
  if (ranks.empty()) ranks = ranks_by_order(snapshot, hooked);
  std::vector<Event> events;
  for (const auto& [rank, shows] : ranks) {
    if (hooked.contains(shows.id)) continue;
    const auto [known, fresh] = told_.try_emplace(rank, Told{shows.id, {}, {}});
    Told& told = known->second;
    if (fresh || told.process != shows.id) {
      told = {shows.id, {}, {}};
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

}  // namespace safelaunch::watch
