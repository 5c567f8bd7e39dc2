#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/process_facts.h"
#include "safelaunch/settings/run_options.h"

/// Which processes are left over from an earlier run, and which of them we may end. The rules that
/// protect everybody else stand in launcher/clean/stale.cc, in the order in which they are asked.
namespace safelaunch::clean {

/// What we know about a process that stands in the way or is left over.
enum class Claim {
  ours,      ///< proven: our mark, the safelaunch that answers for it gone, nobody else above it
  orphan,    ///< not ours, but by every sign a rank without its launcher, and it does nothing
  named,     ///< a file of our user with a name that jobs give; who made it is not known
  unproven,  ///< listed and never touched
};

/// A process above a candidate in the tree.
struct Ancestor {
  int pid = 0;
  std::string comm;
  std::string run_id;  ///< of the mark in its environment; empty for none, or where we may not look
  int session = 0;
  std::uint64_t start_ticks = 0;
};

/// What a second look has seen of a process since the first.
struct Work {
  bool none = false;  ///< no CPU, io, children or connections; it holds no GPU that may work for it
  std::string what;   ///< what it does, or in what it rests
};

/// A process that may be stale, with all that the decision rests on.
struct Candidate {
  host::ProcessFacts process;
  std::string command;
  Environment environment;  ///< empty where we may not read it
  std::optional<std::uint64_t> pid_namespace;
  std::string cgroup;
  std::vector<Ancestor> above;  ///< from its parent up to PID 1, or to where /proc hides the next
  host::Life owner = host::Life::hidden;  ///< of the process that its SAFELAUNCH_OWNER names
  std::vector<std::string> holds;         ///< "port 29500", "/dev/nvidia0"
  std::optional<Work> work;               ///< nullopt: nobody has looked twice
  std::optional<std::string> stuck_in;    ///< `stuck_in` of it
};

/// Who asks.
struct Surroundings {
  host::HostIdentity host;
  int self = 0;
  std::vector<int> ancestors;  ///< ours
  std::string cgroup;          ///< ours
  Environment environment;     ///< ours
};

/// One line of `safelaunch clean`.
struct StaleProcess {
  host::ProcessFacts process;
  std::string command;
  std::vector<std::string> holds;
  Claim claim = Claim::unproven;
  std::string why;            ///< what the claim rests on, or what is missing for one
  bool unkillable = false;    ///< it was killed, and does not end
  bool launcherless = false;  ///< a rank that some other launcher has left: listed in any case
};

/// What is to be said about a process; nullopt where it is none of our business.
[[nodiscard]] std::optional<StaleProcess> classify_stale(const Candidate& candidate,
                                                         const Surroundings& us);

/// True for a rank that nobody looks after any more, as far as can be seen without a second look: a
/// launcher's variables, adopted, no terminal, not young, no other batch job.
[[nodiscard]] bool lost_its_launcher(const Candidate& candidate, const Surroundings& us);

/// Whether a policy lets us end a process of this claim.
[[nodiscard]] bool acts_on(settings::CleanPolicy policy, Claim claim);

/// The batch system's job or the pod that a process belongs to ("slurm 123", "pod 1b2c"), empty for
/// none: from its cgroup, which it cannot leave, else from its environment.
[[nodiscard]] std::string scheduled_job_of(std::string_view cgroup, const Environment& environment);

/// True for programs whose trees are never touched: tmux, mpirun, orted, slurmstepd, the daemons of
/// batch systems, another safelaunch.
[[nodiscard]] bool is_protected(std::string_view comm);

/// "pid 71 (python train.py), user bob, 3h old, holds port 29500: …".
[[nodiscard]] std::string describe(const StaleProcess& stale);

}  // namespace safelaunch::clean
