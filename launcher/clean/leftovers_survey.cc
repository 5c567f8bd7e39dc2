#include "safelaunch/clean/leftovers_survey.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <thread>

#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/host/process_tree.h"
#include "safelaunch/host/sockets.h"

// Reads for the decision in stale.cc, and reads as little as it can: one file of each process of
// our user, everything else only of those that are of interest. Ports and GPUs are asked for the
// other way round, from the thing to its holders.
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

// A rank that waits looks like one that is dead, so nothing is judged by one look. CPU time, io,
// children and connections of the rank and of everything below it are read twice; any difference
// counts as work.

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

namespace {

/// The needed things that each pid holds.
using Holdings = std::map<int, std::vector<std::string>>;

Holdings holders_of(const Needs& needs) {
  Holdings holdings;
  for (const auto port : needs.ports)
    for (const auto& holder : host::holders_of(port, host::KernelSockets()))
      if (holder.pid > 0) holdings[holder.pid].push_back(fmt::format("port {}", port));
  for (const auto& held : needs.held) holdings[held.pid].push_back(held.what);
  return holdings;
}

bool is_needed(int gpu, const NeededGpus& needed) {
  return !needed || std::ranges::find(*needed, gpu) != needed->end();
}

void add_gpus(int pid, const NeededGpus& needed, std::vector<std::string>& holds) {
  for (const int gpu : host::gpus_opened_by(pid))
    if (is_needed(gpu, needed)) holds.push_back(fmt::format("/dev/nvidia{}", gpu));
}

std::vector<Ancestor> ancestors_above(const host::ProcessFacts& process) {
  // A pid that is used again while we climb could make a circle.
  constexpr std::size_t kDeepest = 64;
  std::vector<Ancestor> above;
  for (int pid = process.parent; pid > 0 && above.size() < kDeepest;) {
    const auto facts = host::facts_of(pid).value_or(host::ProcessFacts{});
    const auto environment = host::environment_of(pid).value_or(Environment{});
    above.push_back({pid, facts.comm, std::string(value_or(environment, kRunIdVariable)),
                     facts.session, facts.id.start_ticks, facts.age});
    pid = facts.parent;
  }
  return above;
}

host::Life life_of_owner(const Environment& environment) {
  const auto mark = host::parse_owner_mark(value_or(environment, kOwnerVariable));
  return mark ? host::life_of(mark->owner) : host::Life::hidden;
}

/// True for a process that we have marked or that some launcher has started. One read of the
/// environment tells it; a process that is ending has none any more, and may be ending for ever.
bool is_of_interest(int pid, unsigned uid) {
  const auto environment = host::raw_environment_of(pid, uid);
  if (!environment) return false;
  if (environment->empty()) return host::stuck_in(pid).has_value();
  return host::variable_in(*environment, kOwnerVariable) ||
         host::variable_in(*environment, "LOCAL_RANK");
}

/// The run's own processes lead its sessions, and one that has ended leads a session no more.
/// Number 0 is a session of another pid namespace.
bool is_in_foreign_session(const host::ProcessFacts& process, const Environment& environment) {
  if (process.session == 0) return true;
  const auto leader = host::facts_of(process.session);
  if (!leader || leader->id.pid == process.id.pid || leader->has_ended()) return false;
  const auto leaders = host::environment_of(leader->id.pid).value_or(Environment{});
  return value_or(leaders, kRunIdVariable) != value_or(environment, kRunIdVariable);
}

std::optional<Duration> silence_of_run(std::span<const std::filesystem::path> places,
                                       std::string_view run_id) {
  namespace fs = std::filesystem;
  if (run_id.find('/') != std::string_view::npos) return std::nullopt;
  std::optional<fs::file_time_type> last;
  for (const fs::path& place : places)
    for (const char* file : {"events.jsonl", "outcome.json"}) {
      std::error_code none;
      const auto written = fs::last_write_time(place / run_id / file, none);
      if (!none && !place.empty()) last = std::max(last.value_or(written), written);
    }
  if (!last) return std::nullopt;
  return std::chrono::duration_cast<Duration>(fs::file_time_type::clock::now() - *last);
}

/// Reads the facts first. If the pid passes to another process while we read, a later signal
/// reaches the process of the facts, or none.
std::optional<Candidate> read_candidate(int pid, std::vector<std::string> holds,
                                        const Surroundings& us) {
  const auto facts = host::facts_of(pid);
  if (!facts) return std::nullopt;
  Candidate candidate;
  if (facts->state == 'Z' || facts->state == 'D') candidate.stuck_in = host::stuck_in(pid);
  if (facts->has_ended() && !candidate.stuck_in) return std::nullopt;
  candidate.process = *facts;
  candidate.command = host::short_command_of(pid, facts->comm);
  candidate.environment = host::environment_of(pid).value_or(Environment{});
  candidate.pid_namespace = host::pid_namespace_of(pid);
  candidate.cgroup = host::cgroup_of(pid);
  candidate.above = ancestors_above(*facts);
  candidate.owner = life_of_owner(candidate.environment);
  if (const auto run = value_or(candidate.environment, kRunIdVariable); !run.empty()) {
    candidate.in_foreign_session = is_in_foreign_session(*facts, candidate.environment);
    candidate.run_silent_for = silence_of_run(us.runs, run);
  }
  candidate.holds = std::move(holds);
  return candidate;
}

}  // namespace

Surroundings read_surroundings(std::vector<std::filesystem::path> runs) {
  Surroundings us;
  us.runs = std::move(runs);
  us.host = host::read_identity();
  us.self = static_cast<int>(::getpid());
  us.ancestors = host::ancestors_of(us.self);
  us.cgroup = host::cgroup_of(us.self);
  us.environment = current_environment();
  return us;
}

NeededGpus gpus_named(std::span<const std::string> devices, std::optional<int> processes) {
  std::vector<int> gpus;
  for (const std::string& device : devices) {
    const auto gpu = to_number(device);
    if (!gpu) return std::nullopt;
    if (processes && std::ssize(gpus) == *processes) break;
    gpus.push_back(*gpu);
  }
  return gpus;
}

std::vector<StaleProcess> survey(const Needs& needs, const Surroundings& us) {
  auto holdings = holders_of(needs);
  for (const int pid : host::pids_of(std::nullopt))
    if (is_of_interest(pid, us.host.uid)) holdings.try_emplace(pid);

  std::vector<Candidate> candidates;
  for (auto& [pid, holds] : holdings) {
    add_gpus(pid, needs.gpus, holds);
    if (auto candidate = read_candidate(pid, std::move(holds), us))
      candidates.push_back(std::move(*candidate));
  }
  std::vector<Candidate*> launcherless;
  for (Candidate& candidate : candidates)
    if (lost_its_launcher(candidate, us)) launcherless.push_back(&candidate);
  if (needs.inventory) take_inventory(launcherless);
  if (needs.watch > Duration{}) watch_for_work(launcherless, needs.watch);

  std::vector<StaleProcess> stale;
  for (const Candidate& candidate : candidates)
    if (auto found = classify_stale(candidate, us)) stale.push_back(std::move(*found));
  return stale;
}

// A person may end what nobody can prove stale, so only what would harm the asker or the host is
// refused, and all that the number stands for is shown before.

std::string why_never_named(const host::ProcessFacts& process, const Surroundings& us) {
  const int pid = process.id.pid;
  if (pid == 1) return "it is PID 1";
  if (pid == us.self || std::ranges::find(us.ancestors, pid) != us.ancestors.end())
    return "this safelaunch runs below it";
  if (process.comm == "safelaunch") return "it is a safelaunch; `safelaunch stop RUN` ends a job";
  if (process.uid != us.host.uid && us.host.uid != 0)
    return fmt::format("it belongs to user {}", host::user_name(process.uid));
  return {};
}

namespace {

Result<host::ProcessFacts> process_to_end(int pid, const Surroundings& us) {
  const auto refused = [&](const std::string& why) {
    return Error{Errc::usage, fmt::format("pid {} is not ended: {}", pid, why)};
  };
  if (!host::proc_can_be_believed())
    return Error{Errc::os, "/proc shows the processes of another pid namespace"};
  const auto named = host::facts_of(pid);
  if (!named) return refused("there is no such process, or /proc hides it");
  if (const std::string why = why_never_named(*named, us); !why.empty()) return refused(why);
  if (host::resident_bytes_of(pid) == 0)
    return refused("it is a thread of the kernel, or has ended");
  for (const host::ProcessFacts& below : host::tree_of(named->id, host::Procfs()))
    if (below.comm == "safelaunch")
      return refused(
          fmt::format("a safelaunch (pid {}) runs below it; `safelaunch stop RUN` ends "
                      "that first",
                      below.id.pid));
  return *named;
}

std::string cpu_between(const host::ProcessFacts& before, const host::TreeSample& after,
                        Duration watch) {
  for (const host::ProcessSample& process : after.processes)
    if (process.facts.id == before.id)
      return fmt::format("{} of CPU in the last {}",
                         describe_duration(process.facts.cpu - before.cpu),
                         describe_duration(watch));
  return "it has ended meanwhile";
}

StaleProcess told(const host::ProcessFacts& process, const Needs& needs, std::string why) {
  const int pid = process.id.pid;
  Candidate candidate;
  candidate.process = process;
  candidate.holds.push_back(rough_size(host::resident_bytes_of(pid)) + " of memory");
  for (const KnownHolding& held : needs.held)
    if (held.pid == pid) candidate.holds.push_back(held.what);
  take_inventory({&candidate});
  return {.process = process,
          .command = host::short_command_of(pid, process.comm),
          .holds = std::move(candidate.holds),
          .claim = Claim::told,
          .why = std::move(why)};
}

}  // namespace

Result<std::vector<StaleProcess>> survey_named(int pid, const Needs& needs,
                                               const Surroundings& us) {
  const Result<host::ProcessFacts> named = process_to_end(pid, us);
  if (!named) return named.error();
  const host::Procfs table;
  const host::TreeSample before = host::sample_tree(named->id, Clock::now(), table);
  std::this_thread::sleep_for(needs.watch);
  const host::TreeSample after = host::sample_tree(named->id, Clock::now(), table);
  std::vector<StaleProcess> tree;
  for (const host::ProcessSample& process : before.processes) {
    std::string why = cpu_between(process.facts, after, needs.watch);
    if (!tree.empty())
      why = fmt::format("below pid {}, {}", process.facts.parent, why);
    else if (const std::string doing = host::classify(before, after).doing; !doing.empty())
      why += ", " + doing;
    tree.push_back(told(process.facts, needs, std::move(why)));
  }
  return tree;
}

StaleFiles survey_files(FoundFiles found, const host::HostIdentity& host,
                        std::span<const host::Mount> mounts) {
  std::erase_if(found.segments, [&](const host::LeftFile& file) {
    return file.age < kFileSettled || file.uid != host.uid ||
           host::maker_of(file.path) == host::SegmentMaker::unknown;
  });
  std::erase_if(found.locks, [](const host::LeftFile& file) { return file.age < kFileSettled; });
  if (found.segments.empty() && found.locks.empty()) return {};

  std::vector<host::LeftFile> here = found.segments;
  std::ranges::copy_if(found.locks, std::back_inserter(here), [&](const host::LeftFile& lock) {
    const host::Mount* mount = host::mount_of(mounts, lock.path);
    return mount != nullptr && !host::is_network(*mount);
  });
  const FileWitness witness{host.uid, host::sees_all_processes(host), host::use_of(here)};
  const auto records = found.segments.empty() ? std::vector<host::SegmentRecord>{}
                                              : host::read_segment_records(found.runs, host);
  return {stale_segments(found.segments, witness, records),
          stale_locks(found.locks, witness, mounts)};
}

}  // namespace safelaunch::clean
