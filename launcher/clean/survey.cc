#include "safelaunch/clean/survey.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "safelaunch/base/format.h"
#include "safelaunch/host/owner_mark.h"
#include "safelaunch/host/process_tree.h"
#include "safelaunch/host/sockets.h"
#include "safelaunch/host/words.h"

namespace safelaunch {
namespace {

/// What of the needed things each pid holds.
using Holdings = std::map<int, std::vector<std::string>>;

Holdings holders_of(const Needs& needs) {
  Holdings holdings;
  for (const auto port : needs.ports)
    for (const auto& holder : holders_of(port, KernelSockets()))
      if (holder.pid > 0) holdings[holder.pid].push_back(fmt::format("port {}", port));
  for (const auto& held : needs.held) holdings[held.pid].push_back(held.what);
  return holdings;
}

/// True for /dev/nvidia0 and its like, not for the control devices (nvidiactl, nvidia-uvm).
bool is_gpu(std::string_view path) {
  constexpr std::string_view kPrefix = "/dev/nvidia";
  return path.starts_with(kPrefix) && path.size() > kPrefix.size() &&
         path.find_first_not_of("0123456789", kPrefix.size()) == std::string_view::npos;
}

std::vector<std::string> gpus_held_by(int pid) {
  std::vector<std::string> gpus;
  std::error_code error;
  const auto folder = fmt::format("/proc/{}/fd", pid);
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const auto target = std::filesystem::read_symlink(entry.path(), error).string();
    if (is_gpu(target) && std::ranges::find(gpus, target) == gpus.end()) gpus.push_back(target);
  }
  return gpus;
}

std::vector<Ancestor> ancestors_above(const ProcessFacts& process) {
  constexpr std::size_t kDeepest = 64;  // a pid that is reused while we climb could make a circle
  std::vector<Ancestor> above;
  for (int pid = process.parent; pid > 0 && above.size() < kDeepest;) {
    const auto facts = facts_of(pid).value_or(ProcessFacts{});
    const auto environment = environment_of(pid).value_or(Environment{});
    above.push_back(
        {pid, facts.comm, std::string(value_or(environment, kRunIdVariable)), facts.session});
    pid = facts.parent;
  }
  return above;
}

Life life_of_owner(const Environment& environment) {
  const auto mark = parse_owner_mark(value_or(environment, kOwnerVariable));
  return mark ? life_of(mark->owner) : Life::hidden;
}

/// Marked by us, or started by some launcher: found by one read of its environment, which is gone
/// where a process is ending, and may be ending for ever.
bool is_of_interest(int pid, unsigned uid) {
  const auto environment = raw_environment_of(pid, uid);
  if (!environment) return false;
  if (environment->empty()) return stuck_in(pid).has_value();
  return variable_in(*environment, kOwnerVariable) || variable_in(*environment, "LOCAL_RANK");
}

/// The facts come first: should the pid pass to another process while we read, what is signalled
/// later is the process of the facts, or nobody.
std::optional<Candidate> read_candidate(int pid, std::vector<std::string> holds) {
  const auto facts = facts_of(pid);
  if (!facts) return std::nullopt;
  Candidate candidate;
  if (facts->state == 'Z' || facts->state == 'D') candidate.stuck_in = stuck_in(pid);
  if (facts->has_ended() && !candidate.stuck_in) return std::nullopt;
  candidate.process = *facts;
  candidate.command = short_command_of(pid, facts->comm);
  candidate.environment = environment_of(pid).value_or(Environment{});
  candidate.pid_namespace = pid_namespace_of(pid);
  candidate.cgroup = cgroup_of(pid);
  candidate.above = ancestors_above(*facts);
  candidate.owner = life_of_owner(candidate.environment);
  candidate.holds = std::move(holds);
  return candidate;
}

}  // namespace

Surroundings read_surroundings() {
  Surroundings us;
  us.host = read_identity();
  us.self = static_cast<int>(::getpid());
  us.ancestors = ancestors_of(us.self);
  us.cgroup = cgroup_of(us.self);
  us.environment = current_environment();
  return us;
}

std::vector<StaleProcess> survey(const Needs& needs, const Surroundings& us) {
  auto holdings = holders_of(needs);
  for (const int pid : pids_of(std::nullopt))
    if (is_of_interest(pid, us.host.uid)) holdings.try_emplace(pid);

  std::vector<StaleProcess> stale;
  for (auto& [pid, holds] : holdings) {
    if (needs.gpus) std::ranges::move(gpus_held_by(pid), std::back_inserter(holds));
    const auto candidate = read_candidate(pid, std::move(holds));
    if (!candidate) continue;
    if (auto found = classify_stale(*candidate, us)) stale.push_back(std::move(*found));
  }
  return stale;
}

StaleFiles survey_files(FoundFiles found, const HostIdentity& host, std::span<const Mount> mounts) {
  std::erase_if(found.segments, [&](const LeftFile& file) {
    return file.age < kFileSettled || file.uid != host.uid ||
           maker_of(file.path) == SegmentMaker::unknown;
  });
  std::erase_if(found.locks, [](const LeftFile& file) { return file.age < kFileSettled; });
  if (found.segments.empty() && found.locks.empty()) return {};

  std::vector<LeftFile> here = found.segments;
  std::ranges::copy_if(found.locks, std::back_inserter(here), [&](const LeftFile& lock) {
    const Mount* mount = mount_of(mounts, lock.path);
    return mount != nullptr && !is_network(*mount);
  });
  const FileWitness witness{host.uid, sees_all_processes(host), use_of(here)};
  return {stale_segments(found.segments, witness), stale_locks(found.locks, witness, mounts)};
}

}  // namespace safelaunch
