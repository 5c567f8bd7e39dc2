#include "safelaunch/clean/port_lease.h"

#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <numeric>

#include "port_socket.h"
#include "safelaunch/base/format.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/sockets.h"

namespace safelaunch::clean {
namespace {

std::uint32_t random_number() {
  std::uint32_t number = 0;
  static_cast<void>(::getrandom(&number, sizeof number, GRND_NONBLOCK));
  return number;
}

/// Visits every port of a range once, from a random one on and in wide steps: neighbours are often
/// taken together, so the next port is rarely better than the last.
class PortWalk {
 public:
  explicit PortWalk(settings::PortRange range)
      : first_(range.first), size_(static_cast<std::uint32_t>(range.last - range.first + 1)) {
    constexpr std::uint32_t kStep = 7919;
    step_ = std::gcd(kStep, size_) == 1 ? kStep : 1;  // else it would not come to every port
    offset_ = random_number() % size_;
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

/// A port that is bound for us, and the name that keeps other safelaunches off it.
struct HeldPort {
  BoundPort bound;
  UniqueFd name;
};

/// Two jobs can both bind a port, thanks to SO_REUSEADDR; only one of them gets its name. A name
/// that somebody took without binding the port keeps nobody off it: then the port is ours without.
HeldPort hold_port(std::uint16_t port) {
  HeldPort held{bind_port(port), {}};
  if (held.bound.error != 0) return held;
  held.name = take_port_name(port);
  if (held.name) return held;
  held.bound = BoundPort{};  // so that what we ask is not about us
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
  std::string text;
  for (const auto& holder : host::holders_of(port, host::KernelSockets()))
    text += (text.empty() ? "" : ", ") + describe(holder);
  // Before 6.8 the kernel shows no socket that is bound and does not listen.
  if (text.empty() && named.pid > 0)
    return fmt::format("pid {} of user {}, maybe a safelaunch job", named.pid,
                       host::user_name(named.uid));
  return text.empty() ? "a socket that the kernel does not show" : text;
}

bool is_free(std::uint16_t port) {
  return bind_port(port).error == 0;
}

}  // namespace safelaunch::clean
