#include "safelaunch/clean/stale.h"
#include "safelaunch/base/time.h"

#include <algorithm>
#include <span>

#include "safelaunch/base/format.h"
#include "safelaunch/host/identity.h"

// First come the reasons for which a process is not ours to judge at all. Then a process with our
// mark is judged by the mark, any other one by the signs of a rank that has lost its launcher. A
// rule that fails leaves the claim unproven, so an error lists a process and ends none.
namespace safelaunch::clean {
namespace {

/// Programs that keep other jobs' processes below them, cut to the kernel's 15 bytes. Inside such a
/// tree a mark proves only that the tree was started from a job. safelaunch itself is among them: a
/// job whose guardian was killed is still a running job.
constexpr std::string_view kProtected[] = {
    "safelaunch", "tmux",          "screen",          "SCREEN",
    "zellij",     "sshd",          "mosh-server",     "mpirun",
    "mpiexec",    "prterun",       "prted",           "orterun",
    "orted",      "mpiexec.hydra", "hydra_pmi_proxy", "slurmstepd",
    "srun",       "res",           "sbatchd",         "pbs_mom",
    "sge_execd",  "sge_shepherd",  "condor_starter",  "flux-shell",
    "atd",        "cron",          "crond",
};

/// Programs besides PID 1 that adopt orphans. The kernel does not tell which process is a
/// subreaper.
constexpr std::string_view kAdopters[] = {"systemd",   "init",        "tini",
                                          "dumb-init", "docker-init", "catatonit"};

/// A younger process may be the worker of a launcher that is just starting or ending.
constexpr Duration kSettled = std::chrono::seconds(30);

bool listed(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

/// A claim to a candidate, and the reason for it.
struct Judgement {
  Claim claim = Claim::unproven;
  std::string why;
};

/// True if the mark is from this boot and this pid namespace, so that its owner's pid means
/// something.
bool is_from_here(const host::OwnerMark& mark, const Surroundings& us) {
  return mark.boot_id == us.host.boot_id && mark.pid_namespace == us.host.pid_namespace;
}

bool adopts_orphans(const Ancestor& ancestor) {
  return ancestor.pid == 1 || listed(kAdopters, ancestor.comm);
}

bool is_in_another_job(const Candidate& candidate, const Surroundings& us) {
  const auto job = scheduled_job_of(candidate.cgroup, candidate.environment);
  return !job.empty() && job != scheduled_job_of(us.cgroup, us.environment);
}

/// The upper end of a run's processes: the session of the topmost one, and the process above it.
/// For orphans of the run that process has adopted them. Any other process there starts new work
/// that only looks like the run's: a batch system gives its jobs the environment of the user who
/// submits them.
struct EndOfRun {
  int session = 0;
  const Ancestor& above;
};

EndOfRun end_of_run(const Candidate& candidate, std::string_view run_id) {
  int session = candidate.process.session;
  for (const Ancestor& ancestor : candidate.above) {
    if (ancestor.run_id != run_id) return {session, ancestor};
    session = ancestor.session;
  }
  return {session, candidate.above.back()};
}

/// True if the adopter is one that the run's owner ran below: the kernel gives orphans to such a
/// process. Any other parent has started the process itself, with an environment that it was given.
bool ran_below(const host::OwnerMark& mark, const Ancestor& ancestor) {
  return ancestor.pid == 1 ||
         std::ranges::find(mark.above, ProcessId{ancestor.pid, ancestor.start_ticks}) !=
             mark.above.end();
}

/// True if the process at the upper end has adopted the run's processes. It must be one that the
/// run's owner ran below. PID 1 and the known adopters adopt; a subreaper that we run below
/// ourselves counts only where the sessions differ, because a run's processes have sessions of
/// their own, and the work that the subreaper starts for us is in its session.
bool is_adopted(const EndOfRun& end, const host::OwnerMark& mark, const Surroundings& us) {
  if (!ran_below(mark, end.above)) return false;
  if (adopts_orphans(end.above)) return true;
  const bool above_us = std::ranges::find(us.ancestors, end.above.pid) != us.ancestors.end();
  return above_us && end.session != end.above.session;
}

/// The time since the topmost process of the run was started, of those that are above the candidate
/// or are the candidate.
Duration age_of_topmost(const Candidate& candidate, std::string_view run_id) {
  Duration age = candidate.process.age;
  for (const Ancestor& ancestor : candidate.above) {
    if (ancestor.run_id != run_id) break;
    age = ancestor.age;
  }
  return age;
}

/// Nothing that a run has started is younger than the run. The clocks of files and of processes are
/// not one.
bool began_after_its_run(const Candidate& candidate, std::string_view run_id) {
  constexpr Duration kSlack = std::chrono::seconds(2);
  return candidate.run_silent_for &&
         age_of_topmost(candidate, run_id) + kSlack < *candidate.run_silent_for;
}

/// Judges a process that carries our variables.
Judgement judge_marked(const Candidate& candidate, const Surroundings& us, std::string_view text) {
  const auto run_id = value_or(candidate.environment, kRunIdVariable);
  const auto mark = host::parse_owner_mark(text);
  if (!mark || run_id.empty()) return {Claim::unproven, "its safelaunch mark is incomplete"};
  if (!is_from_here(*mark, us))
    return {Claim::unproven, "its safelaunch mark is from another boot or container"};
  if (mark->uid != us.host.uid)
    return {Claim::unproven, fmt::format("has the mark of a run of uid {}", mark->uid)};
  if (candidate.owner == host::Life::running)
    return {Claim::unproven, fmt::format("belongs to the running safelaunch job {}", run_id)};
  if (candidate.owner == host::Life::hidden)
    return {Claim::unproven,
            fmt::format("/proc hides whether its safelaunch (pid {}) still runs", mark->owner.pid)};
  if (is_in_another_job(candidate, us))
    return {Claim::unproven, "it belongs to another job of the scheduler"};
  if (host::asks_to_be_kept(candidate.environment))
    return {Claim::unproven, "SAFELAUNCH_KEEP=1 asks to keep it"};
  if (host::cgroups_key(candidate.cgroup) != mark->cgroups)
    return {Claim::unproven,
            fmt::format("has the mark of safelaunch run {}, but is in another cgroup: a service "
                        "manager may have started it",
                        run_id)};
  if (const EndOfRun end = end_of_run(candidate, run_id); !is_adopted(end, *mark, us))
    return {Claim::unproven,
            fmt::format(
                "has the mark of safelaunch run {}, but runs below '{}' (pid {}), which has none",
                run_id, end.above.comm, end.above.pid)};
  if (candidate.in_foreign_session)
    return {Claim::unproven,
            fmt::format("has the mark of safelaunch run {}, but is in a session that the run did "
                        "not make",
                        run_id)};
  if (began_after_its_run(candidate, run_id))
    return {
        Claim::unproven,
        fmt::format("has the mark of safelaunch run {}, but was started after its end", run_id)};
  return {Claim::ours, fmt::format("left by safelaunch run {}: its safelaunch (pid {}) is gone",
                                   run_id, mark->owner.pid)};
}

/// True if the process has variables that only launchers set together, as torchrun, deepspeed and
/// accelerate do.
bool has_launcher_variables(const Environment& environment) {
  return std::ranges::all_of(
      std::initializer_list<std::string_view>{"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_PORT"},
      [&](std::string_view name) { return environment.contains(name); });
}

bool was_adopted(const Candidate& candidate) {
  return !candidate.above.empty() && adopts_orphans(candidate.above.front());
}

/// The first missing sign of a rank without its launcher; nullptr where all signs are there.
const char* missing_sign(const Candidate& candidate, const Surroundings& us) {
  if (!has_launcher_variables(candidate.environment)) return "its environment shows no launcher";
  if (!was_adopted(candidate)) return "its parent is still there";
  if (candidate.process.terminal != 0) return "it has a terminal";
  if (candidate.process.age < kSettled) return "it is younger than 30s";
  if (is_in_another_job(candidate, us)) return "it belongs to another job of the scheduler";
  return nullptr;
}

/// Judges a process without a mark. A rank that was started by hand looks like one whose launcher
/// has died, so only one that does nothing is an orphan. While a rank moves at all, nobody can tell
/// a hang from work.
Judgement judge_unmarked(const Candidate& candidate, const Surroundings& us) {
  const auto not_ours = [](const std::string& why) { return "not started by safelaunch; " + why; };
  if (const char* missing = missing_sign(candidate, us); missing != nullptr)
    return {Claim::unproven, not_ours(missing)};
  if (host::asks_to_be_kept(candidate.environment))
    return {Claim::unproven, not_ours("SAFELAUNCH_KEEP=1 asks to keep it")};
  const std::string alone = not_ours("a rank without a launcher, or started by hand");
  if (!candidate.work) return {Claim::unproven, alone};
  if (!candidate.work->none) return {Claim::unproven, alone + "; " + candidate.work->what};
  return {Claim::orphan,
          not_ours("a rank without a launcher that does nothing: ") + candidate.work->what};
}

std::string why_stuck(const std::string& function) {
  return fmt::format("it was killed, and cannot end before its call into the kernel{} returns",
                     function.empty() ? "" : fmt::format(" ({})", function));
}

bool is_us_or_above(const Candidate& candidate, const Surroundings& us) {
  const int pid = candidate.process.id.pid;
  return pid == us.self || pid == 1 || std::ranges::find(us.ancestors, pid) != us.ancestors.end();
}

/// The protected program that the process is or runs below; empty for none.
std::string_view protector_of(const Candidate& candidate) {
  if (is_protected(candidate.process.comm)) return candidate.process.comm;
  for (const auto& ancestor : candidate.above)
    if (ancestor.pid != 1 && is_protected(ancestor.comm)) return ancestor.comm;
  return {};
}

/// True if no ancestor is hidden, because a hidden one may be protected. PID 1 alone may be hidden:
/// it adopts.
bool is_seen_up_to_the_top(const Candidate& candidate) {
  return !candidate.above.empty() && candidate.above.back().pid == 1;
}

/// The reason why we may not judge the process, whatever its environment says; empty where we may.
std::string why_not_ours_to_judge(const Candidate& candidate, const Surroundings& us) {
  if (candidate.process.uid != us.host.uid) return "belongs to another user";
  if (candidate.pid_namespace != us.host.pid_namespace) return "belongs to another container";
  if (is_us_or_above(candidate, us)) return "this safelaunch runs below it";
  if (const auto protector = protector_of(candidate); !protector.empty())
    return fmt::format("it is or runs below '{}'", protector);
  if (!is_seen_up_to_the_top(candidate)) return "/proc does not show all of its ancestors";
  return {};
}

Judgement judge(const Candidate& candidate, const Surroundings& us) {
  if (std::string why = why_not_ours_to_judge(candidate, us); !why.empty())
    return {Claim::unproven, std::move(why)};
  const auto mark = candidate.environment.find(kOwnerVariable);
  return mark != candidate.environment.end() ? judge_marked(candidate, us, mark->second)
                                             : judge_unmarked(candidate, us);
}

/// The job that a batch system's variables name.
std::string job_in(const Environment& environment) {
  constexpr std::pair<std::string_view, std::string_view> kVariables[] = {{"SLURM_JOB_ID", "slurm"},
                                                                          {"LSB_JOBID", "lsf"},
                                                                          {"PBS_JOBID", "pbs"},
                                                                          {"FLUX_JOB_ID", "flux"}};
  for (const auto& [variable, scheduler] : kVariables)
    if (const auto job = value_or(environment, variable); !job.empty())
      return fmt::format("{} {}", scheduler, job);
  // Many programs set a JOB_ID; together with SGE_TASK_ID it is Grid Engine's.
  const auto job = value_or(environment, "JOB_ID");
  if (job.empty() || !environment.contains("SGE_TASK_ID")) return {};
  return fmt::format("sge {}.{}", job, value_or(environment, "SGE_TASK_ID"));
}

}  // namespace

bool is_protected(std::string_view comm) {
  // tmux calls its server "tmux: server".
  return listed(kProtected, comm.substr(0, comm.find(':')));
}

std::string scheduled_job_of(std::string_view cgroup, const Environment& environment) {
  // /slurm/uid_1000/job_123/step_0; /kubepods/pod1b2c/…; …/kubepods-burstable-pod1b2c.slice/…
  constexpr std::pair<std::string_view, std::string_view> kMarkers[] = {
      {"/job_", "slurm"}, {"/pod", "pod"}, {"-pod", "pod"}};
  for (const auto& [marker, scheduler] : kMarkers)
    if (const auto found = cgroup.find(marker); found != std::string_view::npos) {
      const auto rest = cgroup.substr(found + marker.size());
      return fmt::format("{} {}", scheduler, rest.substr(0, rest.find_first_of("/.\n")));
    }
  // Jobs that at and cron start run in the cgroup of their service.
  for (const std::string_view service : {"/atd.service", "/cron.service", "/crond.service"})
    if (cgroup.find(service) != std::string_view::npos) return std::string(service.substr(1));
  return job_in(environment);
}

bool lost_its_launcher(const Candidate& candidate, const Surroundings& us) {
  return !candidate.environment.contains(kOwnerVariable) &&
         why_not_ours_to_judge(candidate, us).empty() && missing_sign(candidate, us) == nullptr;
}

std::optional<StaleProcess> classify_stale(const Candidate& candidate, const Surroundings& us) {
  const bool unkillable = candidate.stuck_in.has_value();
  auto [claim, why] = unkillable ? Judgement{Claim::unproven, why_stuck(*candidate.stuck_in)}
                                 : judge(candidate, us);
  const bool launcherless = !unkillable && lost_its_launcher(candidate, us);
  // A process that is neither left over nor in our way is its owner's business alone.
  if (claim == Claim::unproven && candidate.holds.empty() && !unkillable && !launcherless)
    return std::nullopt;
  return StaleProcess{candidate.process, candidate.command, candidate.holds, claim,
                      std::move(why),    unkillable,        launcherless};
}

bool acts_on(settings::CleanPolicy policy, Claim claim) {
  if (claim == Claim::told) return true;
  switch (policy) {
    case settings::CleanPolicy::off: return false;
    case settings::CleanPolicy::ours: return claim == Claim::ours;
    case settings::CleanPolicy::orphans: return claim == Claim::ours || claim == Claim::orphan;
    case settings::CleanPolicy::all_mine: return claim == Claim::ours || claim == Claim::named;
  }
  return false;
}

std::string describe(const StaleProcess& stale) {
  const auto& process = stale.process;
  std::string text = fmt::format("pid {} ({}), user {}, {} old", process.id.pid, stale.command,
                                 host::user_name(process.uid), rough_age(process.age));
  for (const auto& held : stale.holds) text += ", holds " + held;
  if (stale.launcherless && stale.holds.empty()) text += ", holds no port and no GPU";
  return text + ": " + stale.why;
}

}  // namespace safelaunch::clean