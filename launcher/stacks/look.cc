// First the ranks are found, then each is looked at, then the stores at which they meet.
#include "safelaunch/stacks/look.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <thread>

#include "found_ranks.h"
#include "py_spy.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/host/network.h"
#include "safelaunch/host/proc.h"

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
    RankPlace place{.rank = known.rank,
                    .process = known.process,
                    .command = {},
                    .standing = known.standing,
                    .where = known.where,
                    .frames = known.frames,
                    .teller = known.where.empty() ? Teller::nobody : Teller::hook,
                    .doing = {}};
    const auto environment = host::raw_environment_of(known.process.pid, geteuid());
    all.push_back({{environment ? said_rank(*environment, true) : std::nullopt, known.process},
                   std::move(place)});
  }
  return all;
}

// The activity of each, as the kernel tells it.

std::string threads_in_words(const host::ProcessSample& process) {
  std::string text;
  for (const host::ThreadSample& thread : process.threads)
    if (!host::is_housekeeping(thread.comm) || thread.tid == process.facts.id.pid)
      text += fmt::format("thread {} {}: state {}{}\n", thread.tid, thread.comm, thread.state,
                          thread.waits_in.empty() ? "" : " in " + thread.waits_in);
  return text;
}

void tell_doing(RankPlace& place, const host::TreeSample& before, const host::TreeSample& after) {
  if (before.processes.empty() || after.processes.empty()) {
    place.doing = "has ended";
    return;
  }
  const host::ActivitySeen seen = host::classify(before, after);
  place.doing = seen.doing.empty() ? name(seen.activity)
                                   : fmt::format("{}: {}", name(seen.activity), seen.doing);
  if (place.frames.empty()) place.frames = threads_in_words(after.processes.front());
}

/// Reads the place at which a Python stands, by py-spy; returns why that cannot be told.
class PythonReader {
 public:
  void read(RankPlace& place) {
    if (place.teller != Teller::nobody || !is_python(place.process.pid)) return;
    const std::string program = find_py_spy(place.process.pid);
    if (program.empty()) {
      missing_ = true;
      return;
    }
    if (Clock::now() >= until_ || !trouble_.empty()) return;
    const Dump seen = dump(program, place.process.pid, kOneDump);
    if (seen.threads.empty()) {
      trouble_ = fmt::format("py-spy cannot read pid {}: {}", place.process.pid, seen.trouble);
      return;
    }
    place.where = watch::summarize(seen.threads);
    place.frames = watch::all_frames(seen.threads);
    place.teller = Teller::py_spy;
  }
  [[nodiscard]] std::string note() const {
    if (!trouble_.empty()) return trouble_;
    if (missing_)
      return "where their Python stands is not known: pip install py-spy, which can tell, or start "
             "the job under safelaunch";
    return {};
  }

 private:
  TimePoint until_ = Clock::now() + kAllDumps;
  bool missing_ = false;
  std::string trouble_;
};

// The stores.

bool leads_here(const std::string& name) {
  std::vector<std::string> addresses{name};
  if (!host::is_address(name)) addresses = host::look_up(name, kNameWithin).addresses;
  return std::ranges::any_of(addresses, [](const std::string& address) {
    return host::is_loopback_address(address) ||
           host::route_to(address).kind == host::Route::Kind::local;
  });
}

std::string holder_of(std::uint16_t port, const std::vector<RankPlace>& ranks) {
  for (const host::PortHolder& holder : host::holders_of(port, host::KernelSockets())) {
    if (holder.state != host::SocketState::listening) continue;
    const auto rank =
        std::ranges::find(ranks, holder.pid, [](const RankPlace& one) { return one.process.pid; });
    return rank != ranks.end() && rank->rank
               ? fmt::format("rank {} (pid {})", rank->rank->value, holder.pid)
               : fmt::format("pid {} ({})", holder.pid, holder.command);
  }
  return {};
}

StorePlace store_at(const std::string& master, const std::vector<RankPlace>& ranks) {
  StorePlace store{master, {}, {}, {}};
  const std::size_t colon = master.rfind(':');
  const auto port = to_number<std::uint16_t>(master.substr(colon + 1)).value_or(0);
  if (leads_here(master.substr(0, colon)))
    store.holder = holder_of(port, ranks);
  else
    store.holder = "another host";
  std::vector<std::uint64_t> inodes;
  for (const host::Socket& socket : host::KernelSockets().to_port(port))
    if (socket.established && socket.inode != 0) inodes.push_back(socket.inode);
  std::vector<int> pids;
  for (const RankPlace& rank : ranks) pids.push_back(rank.process.pid);
  std::set<int> connected;
  if (!inodes.empty())
    for (const auto& [inode, holders] : host::owners(inodes, pids))
      connected.insert(holders.begin(), holders.end());
  for (const RankPlace& rank : ranks)
    if (rank.rank)
      (connected.contains(rank.process.pid) ? store.connected : store.apart).push_back(*rank.rank);
  return store;
}

JobPlaces look(std::string title, std::vector<ToLookAt> ranks) {
  JobPlaces job{std::move(title), 0, {}, {}, {}};
  const host::Procfs table;
  const TimePoint began = Clock::now();
  std::vector<host::TreeSample> before;
  for (const ToLookAt& one : ranks)
    before.push_back(host::sample_tree(one.place.process, Clock::now(), table));
  PythonReader python;
  for (ToLookAt& one : ranks) python.read(one.place);
  std::this_thread::sleep_until(began + kBetweenSamples);
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
  JobPlaces job = look(std::move(title),
                       told ? known_to(*answer) : with_places(ranks_among(see_tree(safelaunch))));
  if (told && answer->training && !job.notes.empty())
    job.notes.push_back(
        "the job trains, and from its first collective on safelaunch asks no rank any more, unless "
        "--stall-timeout is set");
  return job;
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
  const auto own = std::ranges::find(ranks, facts->id, &FoundRank::process);
  if (own != ranks.end() && !own->said->master.empty()) {
    const std::string master = own->said->master;
    ranks = ranks_among(see_all());
    std::erase_if(ranks, [&](const FoundRank& one) { return one.said->master != master; });
  }
  if (ranks.empty()) ranks = nameless_among(tree);
  return look(title_of(pid), with_places(std::move(ranks)));
}

std::vector<JobPlaces> look_at_all() {
  std::map<std::string, std::vector<FoundRank>> by_master;
  for (FoundRank& rank : ranks_among(see_all())) by_master[rank.said->master].push_back(rank);
  std::vector<JobPlaces> jobs;
  for (auto& [master, ranks] : by_master)
    jobs.push_back(look(master.empty() ? "processes with RANK, without MASTER_ADDR and MASTER_PORT"
                                       : fmt::format("the job that meets at {}", master),
                        with_places(std::move(ranks))));
  return jobs;
}

}  // namespace safelaunch::stacks
