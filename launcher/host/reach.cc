#include "safelaunch/host/reach.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/route.h"

namespace safelaunch::host {
namespace {

struct Target {
  sockaddr_storage address{};
  socklen_t size = 0;
};

Target target_of(const std::string& address, std::uint16_t port) {
  Target target;
  auto* v4 = reinterpret_cast<sockaddr_in*>(&target.address);
  auto* v6 = reinterpret_cast<sockaddr_in6*>(&target.address);
  if (::inet_pton(AF_INET, address.c_str(), &v4->sin_addr) == 1) {
    v4->sin_family = AF_INET;
    v4->sin_port = htons(port);
    target.size = sizeof *v4;
  } else if (::inet_pton(AF_INET6, address.c_str(), &v6->sin6_addr) == 1) {
    v6->sin6_family = AF_INET6;
    v6->sin6_port = htons(port);
    target.size = sizeof *v6;
  }
  return target;
}

/// The errno of the connection, ETIMEDOUT when the deadline comes first, 0 when it stands.
int connect_within(const Target& target, TimePoint deadline) {
  const UniqueFd fd(
      ::socket(target.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return errno;
  if (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&target.address), target.size) == 0)
    return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd one{fd.get(), POLLOUT, 0};
  for (;;) {
    const auto left = std::chrono::duration_cast<Duration>(deadline - Clock::now());
    const int ready = ::poll(&one, 1, static_cast<int>(std::max<Duration::rep>(0, left.count())));
    if (ready == 0) return ETIMEDOUT;
    if (ready > 0) break;
    if (errno != EINTR) return errno;
  }
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

Reach reach_of_error(int error) {
  switch (error) {
    case 0: return Reach::connected;
    case ECONNREFUSED: return Reach::refused;
    case ETIMEDOUT: return Reach::timed_out;
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EINVAL:  // what the kernel says to a blackhole route
    case EACCES:  // … and to a prohibited one
      return Reach::no_route;
    default: return Reach::failed;
  }
}

Reachability try_to_reach(const std::string& address, std::uint16_t port, Duration deadline) {
  const Target target = target_of(address, port);
  if (target.size == 0) return {Reach::failed, "'" + address + "' is no address", {}};
  const TimePoint began = Clock::now();
  const int error = connect_within(target, began + deadline);
  Reachability result;
  result.reach = reach_of_error(error);
  if (error != 0)
    result.why = result.reach == Reach::no_route ? why_no_route(error)
                                                 : std::generic_category().message(error);
  result.took = std::chrono::duration_cast<Duration>(Clock::now() - began);
  return result;
}

}  // namespace safelaunch::host
