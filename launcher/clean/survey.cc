#include "safelaunch/clean/survey.h"

#include <unistd.h>

#include <algorithm>
#include <map>

#include "launcherless.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/gpus.h"
#include "safelaunch/host/owner_mark.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/host/process_tree.h"
#include "safelaunch/host/sockets.h"

// Reads for the decision in stale.cc, and reads as little as it can: one file of each process of
// our user, everything else only of those that are of interest. Ports and GPUs are asked for the
// other way round, from the thing to its holders.
namespace safelaunch::clean {
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
    above.push_back({pid, facts.comm, std::string(value_or(environment, host::kRunIdVariable)),
                     facts.session, facts.id.start_ticks});
    pid = facts.parent;
  }
  return above;
}

host::Life life_of_owner(const Environment& environment) {
  const auto mark = host::parse_owner_mark(value_or(environment, host::kOwnerVariable));
  return mark ? host::life_of(mark->owner) : host::Life::hidden;
}

/// True for a process that we have marked or that some launcher has started. One read of the
/// environment tells it; a process that is ending has none any more, and may be ending for ever.
bool is_of_interest(int pid, unsigned uid) {
  const auto environment = host::raw_environment_of(pid, uid);
  if (!environment) return false;
  if (environment->empty()) return host::stuck_in(pid).has_value();
  return host::variable_in(*environment, host::kOwnerVariable) ||
         host::variable_in(*environment, "LOCAL_RANK");
}

/// Reads the facts first. If the pid passes to another process while we read, a later signal
/// reaches the process of the facts, or none.
std::optional<Candidate> read_candidate(int pid, std::vector<std::string> holds) {
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
  candidate.holds = std::move(holds);
  return candidate;
}

}  // namespace

Surroundings read_surroundings() {
  Surroundings us;
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
    if (auto candidate = read_candidate(pid, std::move(holds)))
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
