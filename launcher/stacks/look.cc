#include "safelaunch/stacks/look.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>
#include <thread>

#include "found_ranks.h"
#include "py_spy.h"
#include "rank_place.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/host/network.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/python_frames.h"

// First the ranks are found, then each is looked at, then the stores at which they meet. Python is
// asked between the two samples of the kernel, so that the wait between them costs nothing. This
// file reads; found_ranks, rank_place and py_spy decide.
namespace safelaunch::stacks {
namespace {

// Half a second between two samples gives a sound answer (host/activity.h).
constexpr Duration kBetweenSamples{500};

// py-spy reads a process in a tenth of a second; on a host that swaps it may need longer.
constexpr Duration kOneDump{5'000};
constexpr Duration kAllDumps{20'000};

constexpr Duration kNameWithin{1'000};

bool is_python(int pid) {
  std::array<char, 4096> path{};
  const ssize_t size = readlink(host::ProcPath(pid, "exe").c_str(), path.data(), path.size());
  if (size <= 0) return false;
  return base_name({path.data(), static_cast<std::size_t>(size)}).starts_with("python");
}

SeenProcess see(host::ProcessFacts facts, bool below_a_launcher) {
  SeenProcess seen{std::move(facts)};
  seen.python = is_python(seen.facts.id.pid);
  if (const auto environment = host::raw_environment_of(seen.facts.id.pid, geteuid()))
    seen.said = said_rank(*environment, below_a_launcher);
  return seen;
}

std::vector<SeenProcess> see_tree(ProcessId root) {
  std::vector<SeenProcess> seen;
  for (host::ProcessFacts& facts : host::tree_of(root, host::Procfs()))
    if (!facts.has_ended()) seen.push_back(see(std::move(facts), true));
  return seen;
}

std::vector<SeenProcess> see_all() {
  std::vector<SeenProcess> seen;
  for (host::ProcessFacts& facts : host::Procfs().all(geteuid()))
    if (!facts.has_ended()) seen.push_back(see(std::move(facts), false));
  std::ranges::sort(seen, {}, [](const SeenProcess& one) { return one.facts.id.start_ticks; });
  return seen;
}

/// A rank with what is known of it before it is looked at.
struct ToLookAt {
  FoundRank found;
  RankPlace place;
};

std::vector<ToLookAt> with_places(std::vector<FoundRank> ranks) {
  std::vector<ToLookAt> all;
  for (FoundRank& found : ranks) {
    RankPlace place;
    if (found.said) place.rank = Rank{found.said->rank};
    place.process = found.process;
    all.push_back({std::move(found), std::move(place)});
  }
  return all;
}

std::vector<ToLookAt> known_to(const SupervisorAnswer& answer) {
  std::vector<ToLookAt> all;
  for (const KnownRank& known : answer.ranks) {
    const auto environment = host::raw_environment_of(known.process.pid, geteuid());
    all.push_back({{environment ? said_rank(*environment, true) : std::nullopt, known.process},
                   place_of(known)});
  }
  return all;
}

PythonReader::Means means_until(TimePoint end) {
  const auto is_there = [](ProcessId process) {
    return host::is_running(process) && is_python(process.pid);
  };
  return {is_there, [](int pid) { return find_py_spy(pid); },
          [](const std::string& program, int pid) { return dump(program, pid, kOneDump); },
          host::python_frames, [end] { return Clock::now() >= end; }};
}

// The stores.

bool leads_here(const std::string& name) {
  std::vector<std::string> addresses{name};
  if (!host::is_address(name)) addresses = host::look_up(name, kNameWithin).addresses;
  return std::ranges::any_of(addresses, [](const std::string& address) {
    return host::is_loopback_address(address) ||
           host::route_to(address).kind == host::Route::Kind::local;
  });
}

std::set<int> connected_to(std::uint16_t port, const std::vector<RankPlace>& ranks) {
  std::vector<std::uint64_t> inodes;
  for (const host::Socket& socket : host::KernelSockets().to_port(port))
    if (socket.established && socket.inode != 0) inodes.push_back(socket.inode);
  if (inodes.empty()) return {};
  std::vector<int> pids;
  for (const RankPlace& rank : ranks) pids.push_back(rank.process.pid);
  std::set<int> connected;
  for (const auto& [inode, holders] : host::owners(inodes, pids))
    connected.insert(holders.begin(), holders.end());
  return connected;
}

StorePlace store_at(const std::string& master, const std::vector<RankPlace>& ranks) {
  const Meeting meeting = meeting_at(master);
  if (meeting.port == 0) return store_of(master, {leads_here(meeting.host)}, ranks);
  StoreSeen seen{leads_here(meeting.host), {}, connected_to(meeting.port, ranks)};
  if (seen.leads_here) seen.holders = host::holders_of(meeting.port, host::KernelSockets());
  return store_of(master, seen, ranks);
}

// The tree of a job.

using Tree = std::vector<host::ProcessFacts>;

Tree tree_of_all(std::vector<ProcessId> roots, std::span<const ToLookAt> ranks) {
  for (const ToLookAt& one : ranks) roots.push_back(one.place.process);
  Tree all;
  for (const ProcessId root : roots) {
    if (std::ranges::find(all, root, &host::ProcessFacts::id) != all.end()) continue;
    for (host::ProcessFacts& facts : host::tree_of(root, host::Procfs()))
      if (!facts.has_ended()) all.push_back(std::move(facts));
  }
  return all;
}

void add_to_tree(const Tree& all, const host::ProcessFacts& process, int depth, Duration wall,
                 std::vector<TreeProcess>& tree) {
  const int pid = process.id.pid;
  const Duration cpu = host::facts_of(process.id).value_or(process).cpu - process.cpu;
  tree.push_back({pid, depth, process.state, static_cast<int>(100 * cpu / wall),
                  host::short_command_of(pid, process.comm)});
  for (const host::ProcessFacts& below : all)
    if (below.parent == pid) add_to_tree(all, below, depth + 1, wall, tree);
}

std::vector<TreeProcess> tree_in_order(const Tree& all, Duration wall) {
  std::set<int> pids;
  for (const host::ProcessFacts& process : all) pids.insert(process.id.pid);
  std::vector<TreeProcess> tree;
  for (const host::ProcessFacts& process : all)
    if (!pids.contains(process.parent)) add_to_tree(all, process, 0, wall, tree);
  return tree;
}

JobPlaces look(std::string title, std::vector<ToLookAt> ranks, std::vector<ProcessId> roots = {}) {
  JobPlaces job{std::move(title), 0, {}, {}, {}, {}};
  const host::Procfs table;
  const TimePoint began = Clock::now();
  const Tree tree = tree_of_all(std::move(roots), ranks);
  std::vector<host::TreeSample> before;
  for (const ToLookAt& one : ranks)
    before.push_back(host::sample_tree(one.place.process, Clock::now(), table));
  PythonReader python(means_until(began + kAllDumps));
  for (ToLookAt& one : ranks) python.read(one.place);
  std::this_thread::sleep_until(began + kBetweenSamples);
  job.tree = tree_in_order(tree, std::chrono::ceil<Duration>(Clock::now() - began));
  std::set<std::string> masters;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    RankPlace& place = ranks[i].place;
    place.command = host::short_command_of(place.process.pid, "it has no command line");
    tell_doing(place, before[i], host::sample_tree(place.process, Clock::now(), table));
    if (const auto& said = ranks[i].found.said) {
      job.world = std::max(job.world, said->world);
      if (!said->master.empty()) masters.insert(said->master);
    }
    job.ranks.push_back(std::move(place));
  }
  for (const std::string& master : masters) job.stores.push_back(store_at(master, job.ranks));
  if (std::string note = python.note(); !note.empty()) job.notes.push_back(std::move(note));
  return job;
}

std::string title_of(int pid) {
  return fmt::format("pid {} ({})", pid, host::short_command_of(pid, "it has no command line"));
}

}  // namespace

JobPlaces look_at_run(std::string title, ProcessId safelaunch,
                      const std::optional<SupervisorAnswer>& answer) {
  const bool told = answer && !answer->ranks.empty();
  return look(std::move(title),
              told ? known_to(*answer) : with_places(ranks_among(see_tree(safelaunch))),
              {safelaunch});
}

std::map<Rank, ProcessId> ranks_below(ProcessId root) {
  std::map<Rank, ProcessId> ranks;
  for (const FoundRank& found : ranks_among(see_tree(root)))
    ranks.emplace(Rank{found.said->rank}, found.process);
  return ranks;
}

JobPlaces look_at_process(int pid) {
  const auto facts = host::facts_of(pid);
  if (!facts) return {};
  const std::vector<SeenProcess> tree = see_tree(facts->id);
  std::vector<FoundRank> ranks = ranks_among(tree);
  if (const std::string meeting = meeting_of(facts->id, ranks); !meeting.empty())
    if (auto jobs = by_master(ranks_among(see_all())); jobs.contains(meeting))
      ranks = std::move(jobs[meeting]);
  if (ranks.empty()) ranks = nameless_among(tree);
  return look(title_of(pid), with_places(std::move(ranks)), {facts->id});
}

std::vector<JobPlaces> look_at_all() {
  std::vector<JobPlaces> jobs;
  for (const auto& [master, ranks] : by_master(ranks_among(see_all())))
    jobs.push_back(look(master.empty() ? "processes with RANK, without MASTER_ADDR and MASTER_PORT"
                                       : fmt::format("the job that meets at {}", master),
                        with_places(ranks)));
  return jobs;
}

}  // namespace safelaunch::stacks
