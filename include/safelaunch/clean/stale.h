#pragma once

#include <cstdint>
#include <filesystem>

#include "safelaunch/base/environment.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/settings/run_options.h"

/// Decides which processes are left over from an earlier run, and which of them we may end. The
/// rules that protect all other processes stand in launcher/clean/stale.cc, in the order in which
/// they are asked.
namespace safelaunch::clean {

/// The strength of our claim to a process that stands in the way or is left over.
enum class Claim {
  ours,      ///< proven: it has our mark, its safelaunch is gone, and no other program is above it
  orphan,    ///< not ours, but by every sign a rank without its launcher, and it does nothing
  told,      ///< a person has named it by its pid, has seen what it is, and wants it ended
  named,     ///< a file of our user with a name that jobs give; its maker is not known
  unproven,  ///< listed and never touched
};

/// A process above a candidate in the tree.
struct Ancestor {
  int pid = 0;
  std::string comm;
  /// From the mark in its environment; empty where there is none or we may not look.
  std::string run_id;
  int session = 0;
  std::uint64_t start_ticks = 0;
  Duration age{};
};

/// The activity of a process between the first look and the second.
struct Work {
  bool none = false;  ///< no CPU, io, children or connections; it holds no GPU that may work for it
  std::string what;   ///< the work that it does, or the call in which it rests
};

/// A process that may be stale, with all that the decision rests on.
struct Candidate {
  host::ProcessFacts process;
  std::string command;
  Environment environment;  ///< empty where we may not read it
  std::optional<std::uint64_t> pid_namespace;
  std::string cgroup;
  /// The processes from its parent up to PID 1, or to where /proc hides the next.
  std::vector<Ancestor> above;
  host::Life owner = host::Life::hidden;  ///< state of the process that its SAFELAUNCH_OWNER names
  std::vector<std::string> holds;         ///< "port 29500", "/dev/nvidia0"
  std::optional<Work> work;               ///< nullopt where nobody has looked twice
  /// The leader of its session is there, is not the process itself, and has not the mark of its
  /// run. A run's processes have sessions of their own.
  bool in_foreign_session = false;
  /// How long ago its run last recorded anything; nullopt where no record of the run is found.
  std::optional<Duration> run_silent_for;
  /// The kernel call in which it is stuck, where it is (`stuck_in`).
  std::optional<std::string> stuck_in;
};

/// The process that asks, and the host on which it runs.
struct Surroundings {
  host::HostIdentity host;
  int self = 0;
  std::vector<int> ancestors;               ///< our ancestors
  std::string cgroup;                       ///< our cgroup
  std::vector<std::filesystem::path> runs;  ///< the folders in which runs are recorded
  Environment environment;                  ///< our environment
};

/// One line of `safelaunch clean`.
struct StaleProcess {
  host::ProcessFacts process;
  std::string command;
  std::vector<std::string> holds;
  Claim claim = Claim::unproven;
  std::string why;            ///< the grounds of the claim, or the proof that is missing for one
  bool unkillable = false;    ///< it was killed, and does not end
  bool launcherless = false;  ///< a rank that another launcher has left; it is listed in any case
};

/// Judges a process; nullopt where it is none of our business.
[[nodiscard]] std::optional<StaleProcess> classify_stale(const Candidate& candidate,
                                                         const Surroundings& us);

/// True for a rank that has lost its launcher, as far as one look can tell: it has a launcher's
/// variables, is adopted, has no terminal, is not young, and belongs to no other batch job.
[[nodiscard]] bool lost_its_launcher(const Candidate& candidate, const Surroundings& us);

/// True if the policy lets us end a process with this claim.
[[nodiscard]] bool acts_on(settings::CleanPolicy policy, Claim claim);

/// Names the batch system's job or the pod of a process ("slurm 123", "pod 1b2c"); empty for none.
/// The cgroup counts first, because a process cannot leave it; then the environment.
[[nodiscard]] std::string scheduled_job_of(std::string_view cgroup, const Environment& environment);

/// True for programs whose trees are never touched: tmux, mpirun, orted, slurmstepd, the daemons of
/// batch systems, another safelaunch.
[[nodiscard]] bool is_protected(std::string_view comm);

/// "pid 71 (python train.py), user bob, 3h old, holds port 29500: …".
[[nodiscard]] std::string describe(const StaleProcess& stale);

}  // namespace safelaunch::clean
