#pragma once

#include <cstdint>
#include <string>

#include "safelaunch/base/time.h"

namespace safelaunch::host {

/// The way on which the kernel would send a packet to an address.
struct Route {
  enum class Kind {
    out,      ///< the packet leaves by `interface`
    local,    ///< the address is one of ours
    none,     ///< there is no way; `why` has the kernel's words
    unknown,  ///< the text was no address, or the kernel does not say
  };
  Kind kind = Kind::unknown;
  std::string interface;
  std::string why;
  bool operator==(const Route&) const = default;
};

/// Asks the kernel's routing table (netlink). Sends nothing and takes microseconds.
[[nodiscard]] Route route_to(const std::string& address);

/// The meaning of the kernel's error for an address without a route.
[[nodiscard]] std::string why_no_route(int error);

/// The result of an attempt to connect.
enum class Reach {
  connected,
  refused,    ///< the host answers; nobody listens on the port
  timed_out,  ///< no answer: the host is down, or a filter drops the packets
  no_route,   ///< our own kernel, or a router, knows no way there
  failed,     ///< anything else
};

struct Reachability {
  Reach reach = Reach::failed;
  std::string why;  ///< the kernel's words where the attempt failed
  Duration took{};
  bool operator==(const Reachability&) const = default;
};

/// Connects by TCP to an address (not a name) and closes the connection at once. Returns within the
/// deadline.
[[nodiscard]] Reachability try_to_reach(const std::string& address, std::uint16_t port,
                                        Duration deadline);

/// The result that an errno of connect(2) means.
[[nodiscard]] Reach reach_of_error(int error);

}  // namespace safelaunch::host
