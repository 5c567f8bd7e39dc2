#pragma once

#include <cstdint>

#include "safelaunch/base/result.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/settings/option.h"

/// A port for a job of one node: found free, and kept for the job alone until it ends.
namespace safelaunch::clean {

/// The range in which `--port auto` looks: 20000 to 32767 without the ports that the kernel gives
/// to outgoing connections (ip_local_port_range, `ephemeral`). Where these cover nearly all of it,
/// the part below 20000 is taken.
[[nodiscard]] settings::PortRange automatic_ports(settings::PortRange ephemeral);

/// The kernel's range for outgoing connections.
[[nodiscard]] settings::PortRange ephemeral_ports();

/// One port, ours until this object goes or the process dies, by two means:
/// - a TCP socket bound to the port, on IPv4 and IPv6, that does not listen. The kernel gives the
///   port to no outgoing connection, and a server without SO_REUSEADDR cannot bind it; the job's
///   own server sets SO_REUSEADDR and can. torch's TCPStore, torchrun, deepspeed, accelerate and
///   JAX's coordinator were seen to start while the port is held. So can any other program that
///   sets SO_REUSEADDR, of whatever user: that cannot be kept off.
/// - a name in the abstract Unix namespace, which no two safelaunch jobs of a host can have at
///   once. A name alone, without the port bound, counts for nothing.
/// Both close on exec: nothing of it reaches the job.
class PortLease {
 public:
  [[nodiscard]] std::uint16_t port() const { return port_; }

 private:
  friend Result<PortLease> lease_port(settings::PortRange range);
  PortLease() = default;

  std::uint16_t port_ = 0;
  UniqueFd name_;
  UniqueFd ipv4_;
  UniqueFd ipv6_;
};

/// Leases a free port of the range, another one in every call: the search starts anywhere and
/// visits each port once, so that jobs that start together do not race for one port. Where none is
/// free the error is Errc::blocked, and for a range of one port it names the holder. TIME_WAIT does
/// not count as held.
[[nodiscard]] Result<PortLease> lease_port(settings::PortRange range);

/// Names the holders of a port for a message: "pid 71 (python server.py) of user bob, listening for
/// 3h", "another safelaunch job (pid 72)".
[[nodiscard]] std::string describe_holders(std::uint16_t port);

/// Finds out by binding whether a server that sets SO_REUSEADDR could bind the port now.
[[nodiscard]] bool is_free(std::uint16_t port);

}  // namespace safelaunch::clean
