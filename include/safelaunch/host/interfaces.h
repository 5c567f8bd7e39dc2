#pragma once

#include <string>
#include <vector>

namespace safelaunch::host {

/// One network interface of our network namespace.
struct NetworkInterface {
  std::string name;
  std::vector<std::string> addresses;  ///< IPv4 and IPv6 in text, in the kernel's order
  bool up = false;
  bool running = false;  ///< it has a carrier
  bool loopback = false;
  int mtu = 0;
  bool operator==(const NetworkInterface&) const = default;
};

/// All of them, in the kernel's order, which is also the one in which NCCL and gloo look.
[[nodiscard]] std::vector<NetworkInterface> network_interfaces();

/// 127.0.0.0/8 and ::1.
[[nodiscard]] bool is_loopback_address(const std::string& address);

}  // namespace safelaunch::host
