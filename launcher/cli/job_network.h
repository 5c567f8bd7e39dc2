#pragma once

#include <set>

#include "safelaunch/base/time.h"
#include "safelaunch/host/network.h"
#include "safelaunch/host/sockets.h"
#include "safelaunch/report/status.h"

namespace safelaunch::cli {

/// The interfaces over which these connections go. One between two addresses of this host goes over
/// the loopback, whatever interface has the address.
[[nodiscard]] std::set<std::string> interfaces_used(
    std::span<const host::Socket> connections, std::span<const host::NetworkInterface> interfaces);

/// Looks now and then at the interfaces of a job, and tells what went over them between two looks.
/// InfiniBand's own transport (RDMA) passes these counters by.
class JobNetwork {
 public:
  void look(std::span<const int> pids, TimePoint now);
  /// Empty until the second look, and where the ranks have no connection.
  [[nodiscard]] const std::vector<report::NetworkFigures>& figures() const { return figures_; }

 private:
  TimePoint at_{};
  std::map<std::string, host::InterfaceBytes> before_;
  std::vector<report::NetworkFigures> figures_;
};

}  // namespace safelaunch::cli
