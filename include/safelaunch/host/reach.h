#pragma once

#include <cstdint>
#include <string>

#include "safelaunch/base/time.h"

namespace safelaunch::host {

/// What became of an attempt to connect.
enum class Reach {
  connected,
  refused,    ///< the host answers; nobody listens on the port
  timed_out,  ///< no answer: the host is down, or a filter drops the packets
  no_route,   ///< our own kernel, or a router, knows no way there
  failed,     ///< anything else
};

struct Reachability {
  Reach reach = Reach::failed;
  std::string why;  ///< the kernel's words where it did not connect
  Duration took{};
  bool operator==(const Reachability&) const = default;
};

/// Connects by TCP to an address (not a name), and closes at once. Ends within the deadline.
[[nodiscard]] Reachability try_to_reach(const std::string& address, std::uint16_t port,
                                        Duration deadline);

/// The answer that an errno of connect(2) means.
[[nodiscard]] Reach reach_of_error(int error);

}  // namespace safelaunch::host
