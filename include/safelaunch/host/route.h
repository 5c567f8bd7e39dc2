#pragma once

#include <string>

namespace safelaunch::host {

/// How the kernel would send a packet to an address.
struct Route {
  enum class Kind {
    out,      ///< over `interface`
    local,    ///< the address is one of ours
    none,     ///< it has no way there; `why` says in which words
    unknown,  ///< it was no address, or the kernel does not say
  };
  Kind kind = Kind::unknown;
  std::string interface;
  std::string why;
  bool operator==(const Route&) const = default;
};

/// Asks the kernel's routing table (netlink). Sends nothing and takes microseconds.
[[nodiscard]] Route route_to(const std::string& address);

/// What the kernel means by the error that it gives for an address without a route.
[[nodiscard]] std::string why_no_route(int error);

}  // namespace safelaunch::host
