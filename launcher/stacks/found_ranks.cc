#include "found_ranks.h"

#include <algorithm>
#include <array>
#include <set>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// Two questions are asked of each line of parents: whether a process above is the same rank, and
// whether one above is of another rank, which makes that one a launcher. The order in which the
// processes were listed does not matter, since two may have been started in the same tick.
namespace safelaunch::stacks {
namespace {

// More than any job has; so many missing ranks would fill our memory.
constexpr int kMostRanks = 1'000'000;

// A job without ranks may be anything, a shell with a thousand children too.
constexpr std::size_t kMostNameless = 64;

struct RankNames {
  const char* rank;
  const char* world;
  bool in_every_shell = false;
};

constexpr std::array kRankNames{
    RankNames{"RANK", "WORLD_SIZE"}, RankNames{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    RankNames{"PMI_RANK", "PMI_SIZE"}, RankNames{"JAX_PROCESS_ID", "JAX_NUM_PROCESSES"},
    RankNames{"SLURM_PROCID", "SLURM_NTASKS", true}};

std::optional<int> number_in(std::string_view environment, const char* name) {
  const auto value = host::variable_in(environment, name);
  const auto number = value ? to_number(*value) : std::nullopt;
  return number && *number >= 0 ? number : std::nullopt;
}

std::string master_of(std::string_view environment) {
  const auto host = host::variable_in(environment, "MASTER_ADDR");
  const auto port = host::variable_in(environment, "MASTER_PORT");
  return host && port ? fmt::format("{}:{}", *host, *port) : "";
}

using ByPid = std::map<int, const SeenProcess*>;

/// Calls take(ancestor) for each ancestor that was seen, the nearest first.
template <class Take>
void for_each_above(const SeenProcess& process, const ByPid& seen, Take take) {
  std::set<int> met{process.facts.id.pid};
  for (auto above = seen.find(process.facts.parent);
       above != seen.end() && met.insert(above->first).second;
       above = seen.find(above->second->facts.parent))
    take(*above->second);
}

std::set<int> launchers_among(const std::vector<SeenProcess>& processes, const ByPid& seen) {
  std::set<int> launchers;
  for (const SeenProcess& process : processes) {
    if (!process.said) continue;
    for_each_above(process, seen, [&](const SeenProcess& above) {
      if (above.said && above.said->rank != process.said->rank)
        launchers.insert(above.facts.id.pid);
    });
  }
  return launchers;
}

}  // namespace

std::optional<SaidRank> said_rank(std::string_view raw_environment, bool below_a_launcher) {
  for (const RankNames& names : kRankNames) {
    if (names.in_every_shell && !below_a_launcher) continue;
    if (const auto rank = number_in(raw_environment, names.rank)) {
      const int world = number_in(raw_environment, names.world).value_or(0);
      return SaidRank{*rank, world <= kMostRanks ? world : 0, master_of(raw_environment)};
    }
  }
  return std::nullopt;
}

std::vector<FoundRank> ranks_among(const std::vector<SeenProcess>& processes) {
  ByPid seen;
  for (const SeenProcess& process : processes) seen[process.facts.id.pid] = &process;
  const std::set<int> launchers = launchers_among(processes, seen);
  const auto is_rank = [&](const SeenProcess& one) {
    return one.said && !launchers.contains(one.facts.id.pid);
  };
  std::vector<const SeenProcess*> ranks;
  std::set<const SeenProcess*> wrappers;
  for (const SeenProcess& process : processes) {
    if (!is_rank(process)) continue;
    bool yields = false;
    std::vector<const SeenProcess*> same;
    for_each_above(process, seen, [&](const SeenProcess& above) {
      if (!is_rank(above) || above.said != process.said) return;
      yields = yields || above.python || !process.python;
      same.push_back(&above);
    });
    if (yields) continue;
    ranks.push_back(&process);
    wrappers.insert(same.begin(), same.end());
  }
  std::erase_if(ranks, [&](const SeenProcess* one) { return wrappers.contains(one); });
  std::vector<FoundRank> found;
  for (const SeenProcess* rank : ranks) found.push_back({rank->said, rank->facts.id});
  std::ranges::stable_sort(found, {}, [](const FoundRank& one) { return one.said->rank; });
  return found;
}

std::string meeting_of(ProcessId process, const std::vector<FoundRank>& ranks) {
  const auto own = std::ranges::find(ranks, process, &FoundRank::process);
  return own != ranks.end() && own->said ? own->said->master : "";
}

std::map<std::string, std::vector<FoundRank>> by_master(const std::vector<FoundRank>& ranks) {
  std::map<std::string, std::vector<FoundRank>> jobs;
  for (const FoundRank& rank : ranks) jobs[rank.said ? rank.said->master : ""].push_back(rank);
  return jobs;
}

std::vector<FoundRank> nameless_among(const std::vector<SeenProcess>& processes) {
  const bool any = std::ranges::any_of(processes, &SeenProcess::python);
  std::vector<FoundRank> found;
  for (const SeenProcess& process : processes)
    if ((process.python || !any) && found.size() < kMostNameless)
      found.push_back({std::nullopt, process.facts.id});
  return found;
}

}  // namespace safelaunch::stacks
