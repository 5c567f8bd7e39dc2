#pragma once

#include <cstdint>

#include "safelaunch/base/unique_fd.h"

namespace safelaunch::clean {

/// The sockets that hold a port, and what the kernel said.
struct BoundPort {
  UniqueFd ipv4;
  UniqueFd ipv6;  ///< none on a host without IPv6
  int error = 0;  ///< errno; 0 where the port is bound
};

/// Binds the port on every address, with SO_REUSEADDR and without listening.
[[nodiscard]] BoundPort bind_port(std::uint16_t port);

/// The name `safelaunch/port/N` in the abstract Unix namespace; none where another job has it. It
/// is per network namespace, as ports are, and the kernel frees it when its holder dies.
[[nodiscard]] UniqueFd take_port_name(std::uint16_t port);

/// Whether anybody has the port bound, listening or not: what a lease is, besides its name. Anybody
/// can make names without holding any port.
[[nodiscard]] bool is_bound_by_somebody(std::uint16_t port);

/// Who has the name, as the kernel says.
struct NameHolder {
  int pid = 0;  ///< 0 where it cannot be told
  unsigned uid = 0;
};

[[nodiscard]] NameHolder holder_of_port_name(std::uint16_t port);

}  // namespace safelaunch::clean
