#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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
  int gpus = 0;           ///< how many NVIDIA devices the kernel shows; no driver is asked
  std::vector<std::vector<int>> numa_nodes;  ///< the CPUs of each node
};

[[nodiscard]] HostIdentity read_identity();

/// Whether programs here may find a GPU: NVIDIA's, AMD's, or one that WSL lends.
[[nodiscard]] bool may_have_gpu();

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

}  // namespace safelaunch::host
