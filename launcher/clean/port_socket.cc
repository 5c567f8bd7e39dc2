#include "port_socket.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>

#include "safelaunch/base/format.h"

namespace safelaunch::clean {
namespace {

void switch_on(int fd, int level, int option) {
  const int on = 1;
  ::setsockopt(fd, level, option, &on, sizeof on);
}

/// Beside whom a socket may be bound: with SO_REUSEADDR beside all that do not listen and set it
/// too.
enum class Share { yes, no };

template <class Address>
int bind_to(const UniqueFd& fd, const Address& address, Share share) {
  if (share == Share::yes) switch_on(fd.get(), SOL_SOCKET, SO_REUSEADDR);
  return ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0
                                                                                            : errno;
}

int bind_ipv4(BoundPort& bound, std::uint16_t port, Share share) {
  bound.ipv4 = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!bound.ipv4) return errno;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  return bind_to(bound.ipv4, address, share);
}

int bind_ipv6(BoundPort& bound, std::uint16_t port, Share share) {
  bound.ipv6 = UniqueFd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!bound.ipv6) return 0;
  switch_on(bound.ipv6.get(), IPPROTO_IPV6, IPV6_V6ONLY);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  const int error = bind_to(bound.ipv6, address, share);
  // A host that has IPv6 switched off still makes the socket.
  return error == EADDRNOTAVAIL ? 0 : error;
}

BoundPort bind_both(std::uint16_t port, Share share) {
  BoundPort bound;
  bound.error = bind_ipv4(bound, port, share);
  if (bound.error == 0) bound.error = bind_ipv6(bound, port, share);
  return bound;
}

struct PortName {
  sockaddr_un address{};
  socklen_t size = 0;
};

PortName name_of(std::uint16_t port) {
  PortName name;
  const auto text = fmt::format("safelaunch/port/{}", port);
  name.address.sun_family = AF_UNIX;
  // A zero byte in front makes it abstract: no file, so nothing can be left behind.
  std::ranges::copy(text, name.address.sun_path + 1);
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

UniqueFd unix_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

BoundPort bind_port(std::uint16_t port) {
  return bind_both(port, Share::yes);
}

bool is_bound_by_somebody(std::uint16_t port) {
  return bind_both(port, Share::no).error != 0;
}

UniqueFd take_port_name(std::uint16_t port) {
  auto fd = unix_socket();
  const auto name = name_of(port);
  // It listens because only then the kernel tells others who we are.
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&name.address), name.size) != 0 ||
      ::listen(fd.get(), 1) != 0)
    fd.reset();
  return fd;
}

NameHolder holder_of_port_name(std::uint16_t port) {
  const auto fd = unix_socket();
  const auto name = name_of(port);
  ucred holder{};
  socklen_t size = sizeof holder;
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&name.address), name.size) != 0 ||
      ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &holder, &size) != 0)
    return {};
  return {holder.pid, holder.uid};
}

}  // namespace safelaunch::clean
