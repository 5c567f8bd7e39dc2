#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/process_id.h"

namespace safelaunch::host {

/// The variables with which safelaunch marks every process of its job.
inline constexpr std::string_view kRunIdVariable = "SAFELAUNCH_RUN_ID";
inline constexpr std::string_view kOwnerVariable = "SAFELAUNCH_OWNER";

/// Whose a process is: the one that answers for the job (the guardian, which outlives a killed
/// safelaunch). When that one is gone and a marked process is not, the marked one is left over,
/// unless a stranger has started it with an environment that he was given.
/// A pid means something only within its namespace and boot, so both belong to the mark.
///
/// An environment can be copied, into a service manager above all. What cannot be copied with it is
/// where a process comes from: an orphan of the run can only have been adopted by a process that
/// the owner ran below, and stays in the owner's cgroups, while a manager puts each service into
/// cgroups of its own.
struct OwnerMark {
  std::string boot_id;
  std::uint64_t pid_namespace = 0;
  ProcessId owner;
  std::uint64_t cgroups = 0;     ///< cgroups_key() of the owner
  std::vector<ProcessId> above;  ///< the owner's parent, its parent, …
  bool operator==(const OwnerMark&) const = default;
};

/// A number that stands for the lines of /proc/PID/cgroup, never 0; the same cgroups have the same.
[[nodiscard]] std::uint64_t cgroups_key(std::string_view lines);

/// "BOOT-ID:PIDNS-INODE:PID:START-TICKS:CGROUPS:PID.START-TICKS,…", the value of SAFELAUNCH_OWNER.
[[nodiscard]] std::string to_string(const OwnerMark& mark);

/// nullopt for anything that to_string does not write: a mark that is not whole proves nothing.
[[nodiscard]] std::optional<OwnerMark> parse_owner_mark(std::string_view text);

/// The mark that makes `owner`, a process of this host and namespace, answer for a job.
[[nodiscard]] std::string owner_mark(ProcessId owner);

}  // namespace safelaunch::host
