#include "safelaunch/host/reach.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "safelaunch/base/unique_fd.h"

namespace safelaunch::host {
namespace {

/// "Which way to this address?"
struct Question {
  nlmsghdr header;
  rtmsg body;
  rtattr attribute;
  std::array<unsigned char, sizeof(in6_addr)> address;
};

/// False for what is no address.
bool put_address(const std::string& address, Question& question) {
  const int family = address.find(':') == std::string::npos ? AF_INET : AF_INET6;
  if (::inet_pton(family, address.c_str(), question.address.data()) != 1) return false;
  const unsigned size = family == AF_INET ? sizeof(in_addr) : sizeof(in6_addr);
  question.body.rtm_family = static_cast<unsigned char>(family);
  question.body.rtm_dst_len = static_cast<unsigned char>(size * 8);
  question.attribute.rta_type = RTA_DST;
  question.attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(size));
  question.header.nlmsg_len = NLMSG_LENGTH(sizeof question.body) + RTA_SPACE(size);
  question.header.nlmsg_type = RTM_GETROUTE;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  return true;
}

Route refusal(const nlmsghdr& header) {
  const int error = -static_cast<const nlmsgerr*>(NLMSG_DATA(&header))->error;
  return {Route::Kind::none, {}, why_no_route(error)};
}

Route answer(nlmsghdr& header) {
  auto* body = static_cast<rtmsg*>(NLMSG_DATA(&header));
  Route route;
  route.kind = body->rtm_type == RTN_LOCAL ? Route::Kind::local : Route::Kind::out;
  auto left = static_cast<int>(RTM_PAYLOAD(&header));
  for (rtattr* one = RTM_RTA(body); RTA_OK(one, left); one = RTA_NEXT(one, left)) {
    if (one->rta_type != RTA_OIF) continue;
    unsigned index = 0;
    std::memcpy(&index, RTA_DATA(one), sizeof index);
    std::array<char, IF_NAMESIZE> name{};
    if (::if_indextoname(index, name.data()) != nullptr) route.interface = name.data();
  }
  return route;
}

}  // namespace

std::string why_no_route(int error) {
  switch (error) {
    case EINVAL: return "the route there is a blackhole";
    case EACCES: return "the route there is prohibited";
    default: return std::generic_category().message(error);
  }
}

Route route_to(const std::string& address) {
  Question question{};
  if (!put_address(address, question)) return {};
  const UniqueFd netlink(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!netlink) return {};
  const auto size = question.header.nlmsg_len;
  if (::send(netlink.get(), &question, size, 0) != static_cast<ssize_t>(size)) return {};
  alignas(nlmsghdr) std::array<char, 4096> buffer;
  const auto got = ::recv(netlink.get(), buffer.data(), buffer.size(), 0);
  auto* header = reinterpret_cast<nlmsghdr*>(buffer.data());
  if (got <= 0 || !NLMSG_OK(header, static_cast<unsigned>(got))) return {};
  if (header->nlmsg_type == NLMSG_ERROR) return refusal(*header);
  return header->nlmsg_type == RTM_NEWROUTE ? answer(*header) : Route{};
}

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
    case EINVAL:  // the kernel's answer for a blackhole route
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
