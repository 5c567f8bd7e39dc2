#include "safelaunch/clean/port_lease.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>

#include "safelaunch/base/format.h"
#include "safelaunch/base/random.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/proc.h"
#include "safelaunch/host/sockets.h"

// Two means keep a port: a bound socket keeps servers off it, a name keeps other safelaunches off
// it. The name comes second, and counts only while its port is bound; so a stranger who takes names
// alone blocks nothing.
namespace safelaunch::clean {

// ---- the sockets that hold a port ---------------------------------------------------------------

namespace {

/// The sockets that hold a port, and the kernel's answer.
struct BoundPort {
  UniqueFd ipv4;
  UniqueFd ipv6;  ///< none on a host without IPv6
  int error = 0;  ///< errno of the failure; 0 where the port is bound
};

/// The holder of a name, as the kernel tells it.
struct NameHolder {
  int pid = 0;  ///< 0 where the kernel does not tell it
  unsigned uid = 0;
};

void switch_on(int fd, int level, int option) {
  const int on = 1;
  ::setsockopt(fd, level, option, &on, sizeof on);
}

/// Share::yes binds with SO_REUSEADDR: beside other sockets that set it and do not listen.
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
  // A host with IPv6 switched off makes the socket and refuses its address.
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
  // A zero byte in front makes the name abstract: no file, so nothing can be left behind.
  std::ranges::copy(text, name.address.sun_path + 1);
  name.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

UniqueFd unix_socket() {
  return UniqueFd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// Binds the port on every address, with SO_REUSEADDR and without listening.
BoundPort bind_port(std::uint16_t port) {
  return bind_both(port, Share::yes);
}

/// True if any process has the port bound, listening or not. A name alone does not tell this,
/// because anybody can take names.
bool is_bound_by_somebody(std::uint16_t port) {
  return bind_both(port, Share::no).error != 0;
}

/// Takes the name `safelaunch/port/N` in the abstract Unix namespace; gives no descriptor where
/// another job has it. The name belongs to a network namespace, as ports do, and the kernel frees
/// it when its holder dies.
UniqueFd take_port_name(std::uint16_t port) {
  auto fd = unix_socket();
  const auto name = name_of(port);
  // The socket listens, because only then the kernel tells others which process has it.
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

}  // namespace

// ---- where to look for one ----------------------------------------------------------------------

settings::PortRange automatic_ports(settings::PortRange ephemeral) {
  constexpr settings::PortRange kWanted{20000, 32767};
  constexpr int kEnough = 1000;  // enough for the many jobs of one host
  const bool apart = ephemeral.last < kWanted.first || ephemeral.first > kWanted.last;
  if (apart) return kWanted;
  if (ephemeral.first - kWanted.first >= kEnough)
    return {kWanted.first, static_cast<std::uint16_t>(ephemeral.first - 1)};
  if (kWanted.last - ephemeral.last >= kEnough)
    return {static_cast<std::uint16_t>(ephemeral.last + 1), kWanted.last};
  // Services that have a name use the ports below; few of them lie above 10000.
  constexpr std::uint16_t kLowest = 10000;
  if (ephemeral.first - kLowest >= kEnough)
    return {kLowest, static_cast<std::uint16_t>(ephemeral.first - 1)};
  return kWanted;
}

settings::PortRange ephemeral_ports() {
  constexpr settings::PortRange kKernelsDefault{32768, 60999};
  const host::SmallFile file("/proc/sys/net/ipv4/ip_local_port_range");
  std::string_view text = file.text();  // "32768\t60999"
  const auto first = take_number<std::uint16_t>(text);
  const auto last = to_number<std::uint16_t>(trimmed(text));
  return first && last ? settings::PortRange{*first, *last} : kKernelsDefault;
}

// ---- the lease ----------------------------------------------------------------------------------

namespace {

/// Visits every port of a range once, from a random one on and in wide steps. Neighbours are often
/// taken together, so the next port is rarely better than the last.
class PortWalk {
 public:
  explicit PortWalk(settings::PortRange range)
      : first_(range.first), size_(static_cast<std::uint32_t>(range.last - range.first + 1)) {
    constexpr std::uint32_t kStep = 7919;
    step_ = std::gcd(kStep, size_) == 1 ? kStep : 1;  // other steps would miss ports
    offset_ = static_cast<std::uint32_t>(random_number() % size_);
  }
  [[nodiscard]] std::uint32_t size() const { return size_; }
  std::uint16_t next() {
    offset_ = (offset_ + step_) % size_;
    return static_cast<std::uint16_t>(first_ + offset_);
  }

 private:
  std::uint32_t first_;
  std::uint32_t size_;
  std::uint32_t step_ = 1;
  std::uint32_t offset_ = 0;
};

Error why_not(settings::PortRange range, int error) {
  if (error == EACCES || error == EPERM)
    return {Errc::os, fmt::format("port {} cannot be bound: {}; choose one above 1023", range.first,
                                  std::strerror(error))};
  if (range.first != range.last)
    return {Errc::blocked,
            fmt::format("no port from {} to {} is free; name another range with --port A-B",
                        range.first, range.last)};
  return {Errc::blocked,
          fmt::format("port {} is held by {}; stop it, or let safelaunch choose with --port auto",
                      range.first, describe_holders(range.first))};
}

/// A bound port, and the name that keeps other safelaunches off it.
struct HeldPort {
  BoundPort bound;
  UniqueFd name;
};

/// SO_REUSEADDR lets two jobs bind one port, but only one of them gets its name. A stranger can
/// take the name without binding the port; then the port is ours without the name.
HeldPort hold_port(std::uint16_t port) {
  HeldPort held{bind_port(port), {}};
  if (held.bound.error != 0) return held;
  held.name = take_port_name(port);
  if (held.name) return held;
  held.bound = BoundPort{};  // so that our own socket does not answer the next question
  if (is_bound_by_somebody(port))
    held.bound.error = EADDRINUSE;
  else
    held.bound = bind_port(port);
  return held;
}

}  // namespace

Result<PortLease> lease_port(settings::PortRange range) {
  PortWalk walk(range);
  int error = EADDRINUSE;
  for (std::uint32_t tries = 0; tries < walk.size(); ++tries) {
    PortLease lease;
    lease.port_ = walk.next();
    HeldPort held = hold_port(lease.port_);
    error = held.bound.error;
    if (error != 0) continue;
    lease.name_ = std::move(held.name);
    lease.ipv4_ = std::move(held.bound.ipv4);
    lease.ipv6_ = std::move(held.bound.ipv6);
    return lease;
  }
  return why_not(range, error);
}

std::string describe_holders(std::uint16_t port) {
  const NameHolder named = holder_of_port_name(port);
  if (named.pid > 0 && named.uid == ::geteuid())
    return fmt::format("another safelaunch job (pid {})", named.pid);
  std::vector<std::string> holders;
  for (const auto& holder : host::holders_of(port, host::KernelSockets()))
    holders.push_back(describe(holder));
  // Before 6.8 the kernel shows no socket that is bound and does not listen.
  if (holders.empty() && named.pid > 0)
    return fmt::format("pid {} of user {}, maybe a safelaunch job", named.pid,
                       host::user_name(named.uid));
  return holders.empty() ? "a socket that the kernel does not show" : join(holders, ", ");
}

bool is_free(std::uint16_t port) {
  return bind_port(port).error == 0;
}

}  // namespace safelaunch::clean
