#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/numa_node.h"

namespace safelaunch::host {

/// Where we are: what does not change while we run. Read once and handed on; a test makes its own.
struct HostIdentity {
  std::string hostname;
  std::string boot_id;              ///< differs after every boot, and in time namespaces
  std::uint64_t pid_namespace = 0;  ///< its inode; differs from container to container
  unsigned uid = 0;
  std::vector<int> cpus;  ///< those that we may run on
  int gpus = 0;           ///< NVIDIA devices that the kernel shows; no driver is asked
  std::vector<NumaNode> numa_nodes;
};

[[nodiscard]] HostIdentity read_identity();

/// Whether programs here may find a GPU: NVIDIA's, AMD's, or one that WSL lends.
[[nodiscard]] bool may_have_gpu();

/// Whether it is in the host's own pid namespace, so that no process is hidden from it.
[[nodiscard]] bool sees_all_processes(const HostIdentity& host);

/// The boot's id, and the time namespace's where it is not the host's: what /proc tells of a
/// process's start means something within both alone.
[[nodiscard]] std::string boot_id_of(std::string_view boot, std::string_view time_namespace);

/// Its name alone, for those who need no more.
[[nodiscard]] std::string read_hostname();

/// The boot's id alone, the cheapest part of it.
[[nodiscard]] std::string read_boot_id();

/// The name of a user, or the number where it has none. Asks the name service, which may be slow
/// where a network directory is behind it: for messages, not for every start.
[[nodiscard]] std::string user_name(unsigned uid);

/// The numbers of a kernel list: "0-3,8" is 0 1 2 3 8. Stops at the first thing that is none.
[[nodiscard]] std::vector<int> parse_number_list(std::string_view text);

}  // namespace safelaunch::host
