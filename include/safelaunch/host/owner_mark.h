#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/process.h"
#include "safelaunch/host/process_facts.h"

namespace safelaunch::host {

/// The variables with which safelaunch marks every process of its job.
inline constexpr std::string_view kRunIdVariable = "SAFELAUNCH_RUN_ID";
inline constexpr std::string_view kOwnerVariable = "SAFELAUNCH_OWNER";

/// The owner of a process: the process that answers for the job (the guardian, which outlives a
/// killed safelaunch). Once the owner is gone, a marked process that lives is left over, unless a
/// stranger has started it with an environment that was handed to him. A pid has a meaning only
/// within its namespace and boot, so both belong to the mark.
///
/// An environment can be copied, into a service manager above all. The origin of a process cannot
/// be copied with it: only a process above the owner can have adopted an orphan of the run, and the
/// orphan stays in the owner's cgroups, while a manager puts each service into cgroups of its own.
struct OwnerMark {
  std::string boot_id;
  std::uint64_t pid_namespace = 0;
  ProcessId owner;
  std::uint64_t cgroups = 0;     ///< the cgroups_key() of the owner
  std::vector<ProcessId> above;  ///< the owner's parent, its parent, …
  bool operator==(const OwnerMark&) const = default;
};

/// A number that stands for the lines of /proc/PID/cgroup, never 0; the same cgroups have the same.
[[nodiscard]] std::uint64_t cgroups_key(std::string_view lines);

/// "BOOT-ID:PIDNS-INODE:PID:START-TICKS:CGROUPS:PID.START-TICKS,…", the value of SAFELAUNCH_OWNER.
[[nodiscard]] std::string to_string(const OwnerMark& mark);

/// Reads a mark; nullopt for anything that to_string does not write, since a torn mark proves
/// nothing.
[[nodiscard]] std::optional<OwnerMark> parse_owner_mark(std::string_view text);

/// The mark that makes `owner`, a process of this host and namespace, answer for a job.
[[nodiscard]] std::string owner_mark(ProcessId owner);

/// A process with this setting in its environment asks to live on when its job ends: an upload, a
/// tmux server, an ssh-agent. Neither half of safelaunch ends it, nor does a later clean.
/// safelaunch does not hand the variable on to a job, which would keep itself as a whole.
inline constexpr std::string_view kKeepVariable = "SAFELAUNCH_KEEP";
inline constexpr std::string_view kKeepSetting = "SAFELAUNCH_KEEP=1";

/// Whether a process asks to be kept; `raw_environment` comes from raw_environment_of.
[[nodiscard]] inline bool asks_to_be_kept(std::string_view raw_environment) {
  return variable_in(raw_environment, kKeepVariable) == std::string_view("1");
}

}  // namespace safelaunch::host
