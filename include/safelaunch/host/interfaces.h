#pragma once

#include <string>
#include <vector>

namespace safelaunch::host {

/// One network interface of our network namespace.
struct NetworkInterface {
  std::string name;
  std::vector<std::string> addresses;  ///< IPv4 and IPv6 in text, in the kernel's order
  bool up = false;
  bool running = false;  ///< the interface has a carrier
  bool loopback = false;
  int mtu = 0;
  bool operator==(const NetworkInterface&) const = default;
};

/// All interfaces in the kernel's order, in which NCCL and gloo look at them, too.
[[nodiscard]] std::vector<NetworkInterface> network_interfaces();

/// The addresses of all interfaces, IPv4 and IPv6, without the loopback's.
[[nodiscard]] std::vector<std::string> local_addresses();

/// Whether an address is in 127.0.0.0/8 or is ::1.
[[nodiscard]] bool is_loopback_address(const std::string& address);

}  // namespace safelaunch::host
