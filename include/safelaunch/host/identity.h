#pragma once

#include <cstdint>

#include "safelaunch/base/process.h"
#include "safelaunch/base/variable_names.h"
#include "safelaunch/host/process_facts.h"

namespace safelaunch::host {

/// The host and our place in it: facts that do not change while we run. They are read once and
/// handed on; a test makes its own.
struct HostIdentity {
  std::string hostname;
  std::string boot_id;  ///< it differs after every boot, and in time namespaces
  /// The inode of the namespace; it differs from container to container.
  std::uint64_t pid_namespace = 0;
  unsigned uid = 0;
  std::vector<int> cpus;  ///< the CPUs that we may run on
  /// How many NVIDIA devices the kernel shows. How many GPUs programs find, a driver alone can
  /// tell (gpu/visible.h): WSL has no such device.
  int gpu_devices = 0;
  std::vector<std::vector<int>> numa_nodes;  ///< the CPUs of each node
};

[[nodiscard]] HostIdentity read_identity();

/// Whether the kernel shows a device of a GPU: NVIDIA's, AMD's, or the one of WSL.
[[nodiscard]] bool has_gpu_device();

/// Whether we are in the host's own pid namespace, so that no process is hidden from us.
[[nodiscard]] bool sees_all_processes(const HostIdentity& host);

/// The boot's id, with the id of the time namespace where that is not the host's. The start time of
/// a process in /proc has a meaning only within both.
[[nodiscard]] std::string boot_id_of(std::string_view boot, std::string_view time_namespace);

/// The host's name alone.
[[nodiscard]] std::string read_hostname();

/// The boot's id alone, the cheapest part.
[[nodiscard]] std::string read_boot_id();

/// The name of a user, or the number of a user without a name. Asks the name service, which may be
/// slow with a network directory behind it: so it is for messages, not for every start.
[[nodiscard]] std::string user_name(unsigned uid);

/// The numbers of a kernel list: "0-3,8" is 0 1 2 3 8. Stops at the first word that is no number.
[[nodiscard]] std::vector<int> parse_number_list(std::string_view text);

/// The owner of a process: the process that answers for the job (the guardian, which outlives a
/// killed safelaunch). Once the owner is gone, a marked process that lives is left over, unless a
/// stranger has started it with an environment that was handed to it. A pid has a meaning only
/// within its namespace and boot, so both belong to the mark. So does the user: a setuid program
/// takes another user's processes along with the environment of the run.
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
  unsigned uid = 0;              ///< the owner's user
  bool operator==(const OwnerMark&) const = default;
};

/// A number that stands for the lines of /proc/PID/cgroup, never 0; the same cgroups have the same.
[[nodiscard]] std::uint64_t cgroups_key(std::string_view lines);

/// "BOOT-ID:PIDNS-INODE:UID:PID:START-TICKS:CGROUPS:PID.START-TICKS,…", the value of
/// SAFELAUNCH_OWNER.
[[nodiscard]] std::string to_string(const OwnerMark& mark);

/// Reads a mark; nullopt for anything that to_string does not write, since a torn mark proves
/// nothing.
[[nodiscard]] std::optional<OwnerMark> parse_owner_mark(std::string_view text);

/// The mark that makes `owner`, a process of this host and namespace, answer for a job.
[[nodiscard]] std::string owner_mark(ProcessId owner);

/// Whether a process that was started with this environment asks to be kept.
[[nodiscard]] inline bool asks_to_be_kept(const Environment& environment) {
  return value_or(environment, kKeepVariable) == "1";
}

}  // namespace safelaunch::host
