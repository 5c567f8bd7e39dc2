#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace safelaunch::testing {

/// An IPv4 or IPv6 address, plain and small enough to be sent as bytes, also within a unique id.
union Address {
  sockaddr any;
  sockaddr_in four;
  sockaddr_in6 six{};

  [[nodiscard]] bool is_six() const { return any.sa_family == AF_INET6; }
  [[nodiscard]] socklen_t size() const { return is_six() ? sizeof six : sizeof four; }
  void set_port(std::uint16_t port) { (is_six() ? six.sin6_port : four.sin_port) = htons(port); }
  [[nodiscard]] std::string text() const;  ///< as NCCL writes it: 192.0.2.2<51473>
};

struct NetworkInterface {
  std::string name;
  Address address;

  [[nodiscard]] std::string text() const { return name + ":" + address.text(); }
};

/// The interface that NCCL would take: NCCL_SOCKET_IFNAME (prefixes; `=` exact, `^` all but), else
/// ib*, then anything but docker, lo and virbr, then these. None if nothing matches.
[[nodiscard]] std::optional<NetworkInterface> chosen_interface();

/// Does NCCL_SOCKET_IFNAME's rule `list` let `name` through?
[[nodiscard]] bool matches(const std::string& list, const std::string& name);

}  // namespace safelaunch::testing
