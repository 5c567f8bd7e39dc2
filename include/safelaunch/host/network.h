#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "safelaunch/base/time.h"

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

/// The bytes that an interface has taken and sent since it came up.
struct InterfaceBytes {
  std::uint64_t in = 0;
  std::uint64_t out = 0;
};

/// The counters of all interfaces of our network namespace, by name (/proc/net/dev).
[[nodiscard]] std::map<std::string, InterfaceBytes> interface_bytes();
[[nodiscard]] std::map<std::string, InterfaceBytes> parse_interface_bytes(std::string_view text);

/// The addresses of all interfaces, IPv4 and IPv6, without the loopback's.
[[nodiscard]] std::vector<std::string> local_addresses();

/// Whether an address is in 127.0.0.0/8 or is ::1.
[[nodiscard]] bool is_loopback_address(const std::string& address);

/// The port of "127.0.0.1:29500" and its like; none for another host, or for another loopback
/// address, where others may listen. A name that only a resolver knows may well be ours: it is not
/// asked, since it may take long.
[[nodiscard]] std::optional<std::uint16_t> port_at_loopback(std::string_view endpoint);

/// Whether an address or a name is this host's: the loopback's, its own name (in full or up to its
/// first dot), or an address that the kernel has here. A name that only a resolver knows is not.
[[nodiscard]] bool is_this_host(const std::string& name);

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

/// The answer to the question for a host name.
struct NameLookup {
  enum class Outcome {
    found,
    unknown,  ///< there is no such name
    late,     ///< no answer within the deadline
    skipped,  ///< nobody was asked
  };
  Outcome outcome = Outcome::skipped;
  std::string name;
  std::vector<std::string> addresses;  ///< the addresses in the resolver's order, each once
  std::string why;                     ///< the resolver's words for an unknown name
  Duration took{};
  bool operator==(const NameLookup&) const = default;
};

/// Asks the resolver as torch and gloo do (getaddrinfo), in a thread of its own: a name server that
/// is gone holds that thread for half a minute. A late thread ends as soon as the resolver lets it.
[[nodiscard]] NameLookup look_up(const std::string& name, Duration deadline);

/// Whether the text is an address already, which needs no resolver.
[[nodiscard]] bool is_address(const std::string& text);

/// The addresses that a text of /etc/hosts gives to a name, in its order.
[[nodiscard]] std::vector<std::string> addresses_in_hosts(std::string_view hosts,
                                                          std::string_view name);

/// Looks the name up in this host's file alone. The look takes no time, and finds no name that only
/// a name server knows.
[[nodiscard]] NameLookup look_up_in_hosts_file(const std::string& name);

}  // namespace safelaunch::host
