#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "safelaunch/base/process_id.h"

namespace safelaunch {

/// The variables with which safelaunch marks every process of its job.
inline constexpr std::string_view kRunIdVariable = "SAFELAUNCH_RUN_ID";
inline constexpr std::string_view kOwnerVariable = "SAFELAUNCH_OWNER";

/// Whose a process is: the one that answers for the job (the guardian, which outlives a killed
/// safelaunch). When that one is gone and a marked process is not, the marked one is left over,
/// unless a stranger has started it with an environment that he was given.
/// A pid means something only within its namespace and boot, so both belong to the mark.
struct OwnerMark {
  std::string boot_id;
  std::uint64_t pid_namespace = 0;
  ProcessId owner;
  bool operator==(const OwnerMark&) const = default;
};

/// "BOOT-ID:PIDNS-INODE:PID:START-TICKS", the value of SAFELAUNCH_OWNER.
[[nodiscard]] std::string to_string(const OwnerMark& mark);

/// nullopt for anything that to_string does not write: a mark that is not whole proves nothing.
[[nodiscard]] std::optional<OwnerMark> parse_owner_mark(std::string_view text);

/// The mark that makes `owner`, a process of this host and namespace, answer for a job.
[[nodiscard]] std::string owner_mark(ProcessId owner);

}  // namespace safelaunch
