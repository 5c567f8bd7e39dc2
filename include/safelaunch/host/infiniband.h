#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace safelaunch::host {

/// One port of an InfiniBand, RoCE or EFA adapter, as sysfs shows it.
struct InfinibandPort {
  std::string device;  ///< "mlx5_0"
  int number = 1;
  std::string state;        ///< "ACTIVE", "DOWN", "INIT", "ARMED"
  std::string link_layer;   ///< "InfiniBand", "Ethernet"; EFA says "Unspecified"
  std::string driver = {};  ///< the kernel's driver: "mlx5_core", "efa"
  bool operator==(const InfinibandPort&) const = default;
};

struct Infiniband {
  std::vector<InfinibandPort> ports;
  std::vector<std::string> verbs;   ///< the files that a program opens: /dev/infiniband/uverbs*
  std::vector<std::string> closed;  ///< the files among `verbs` that we may not open
  bool operator==(const Infiniband&) const = default;
};

[[nodiscard]] Infiniband read_infiniband();

/// The ports below a folder laid out as /sys/class/infiniband.
[[nodiscard]] std::vector<InfinibandPort> infiniband_ports(const std::string& folder);

/// "ACTIVE" of "4: ACTIVE".
[[nodiscard]] std::string parse_port_state(std::string_view text);

}  // namespace safelaunch::host
