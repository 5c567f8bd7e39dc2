#include "safelaunch/host/network.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>

#include "safelaunch/base/strings.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/base/user_file.h"
#include "safelaunch/host/identity.h"
#include "safelaunch/host/proc.h"

/// Each question has its own way to the kernel: interfaces by getifaddrs, a route by netlink, a
/// peer by a connection with a deadline. Only the resolver cannot be given a deadline, so a thread
/// asks it, and the answer belongs to both.
namespace safelaunch::host {
namespace {

std::string text_of(const sockaddr* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* bytes = nullptr;
  if (address != nullptr && address->sa_family == AF_INET)
    bytes = &reinterpret_cast<const sockaddr_in*>(address)->sin_addr;
  else if (address != nullptr && address->sa_family == AF_INET6)
    bytes = &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  if (bytes == nullptr) return {};
  ::inet_ntop(address->sa_family, bytes, text.data(), text.size());
  return text.data();
}

/// The kernel answers for an interface by its name, through any socket.
int mtu_of(int any_socket, const std::string& name) {
  ifreq request{};
  name.copy(request.ifr_name, IFNAMSIZ - 1);
  return ::ioctl(any_socket, SIOCGIFMTU, &request) == 0 ? request.ifr_mtu : 0;
}

NetworkInterface& entry_of(std::vector<NetworkInterface>& all, const ifaddrs& one) {
  const auto found = std::ranges::find(all, one.ifa_name, &NetworkInterface::name);
  if (found != all.end()) return *found;
  NetworkInterface added;
  added.name = one.ifa_name;
  added.up = (one.ifa_flags & IFF_UP) != 0;
  added.running = (one.ifa_flags & IFF_RUNNING) != 0;
  added.loopback = (one.ifa_flags & IFF_LOOPBACK) != 0;
  return all.emplace_back(std::move(added));
}

}  // namespace

std::vector<NetworkInterface> network_interfaces() {
  std::vector<NetworkInterface> all;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return all;
  const std::unique_ptr<ifaddrs, decltype([](ifaddrs* list) { ::freeifaddrs(list); })> owner(first);
  for (const ifaddrs* one = first; one != nullptr; one = one->ifa_next) {
    NetworkInterface& entry = entry_of(all, *one);
    if (auto text = text_of(one->ifa_addr); !text.empty())
      entry.addresses.push_back(std::move(text));
  }
  const UniqueFd any_socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  for (NetworkInterface& one : all) one.mtu = mtu_of(any_socket.get(), one.name);
  return all;
}

std::map<std::string, InterfaceBytes> parse_interface_bytes(std::string_view text) {
  constexpr int kBeforeSent = 7;  // packets, errors, …
  std::map<std::string, InterfaceBytes> all;
  while (!text.empty()) {
    std::string_view line = take_word(text, '\n');
    const std::string_view name = trimmed(take_word(line, ':'));
    if (name.empty() || line.empty()) continue;  // the two lines of headings have no colon
    const auto next = [&] { return number_in(take_word(line = trimmed(line))); };
    InterfaceBytes bytes{next(), 0};
    for (int i = 0; i < kBeforeSent; ++i) next();
    bytes.out = next();
    all.emplace(name, bytes);
  }
  return all;
}

std::map<std::string, InterfaceBytes> interface_bytes() {
  return parse_interface_bytes(user_file_text("/proc/net/dev").value_or(""));
}

std::vector<std::string> local_addresses() {
  std::vector<std::string> addresses;
  for (const NetworkInterface& one : network_interfaces())
    if (!one.loopback)
      addresses.insert(addresses.end(), one.addresses.begin(), one.addresses.end());
  return addresses;
}

bool is_loopback_address(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address.starts_with("::ffff:127.");
}

std::optional<std::uint16_t> port_at_loopback(std::string_view endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const std::string_view host = endpoint.substr(0, colon);
  constexpr std::array<std::string_view, 4> kHere{"localhost", "127.0.0.1", "::1", "[::1]"};
  if (std::ranges::find(kHere, host) == kHere.end()) return std::nullopt;
  const auto port = to_number<std::uint16_t>(endpoint.substr(colon + 1));
  return port == 0 ? std::nullopt : port;
}

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
  // Without an answer of the kernel the route stays unknown, which is no finding.
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

bool is_this_host(const std::string& name) {
  const auto first_label = [](const std::string& host) { return host.substr(0, host.find('.')); };
  const Route::Kind route = route_to(name).kind;
  const bool is_address = route != Route::Kind::unknown;
  return is_loopback_name(name) || route == Route::Kind::local ||
         (!is_address && first_label(name) == first_label(read_hostname()));
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

namespace {

/// The answer is shared with the thread, which may outlive the question.
struct LookedUp {
  std::mutex mutex;
  std::condition_variable arrived;
  bool there = false;
  int error = 0;
  std::vector<std::string> addresses;
};

std::vector<std::string> texts_of(const addrinfo* first) {
  std::vector<std::string> addresses;
  for (const addrinfo* one = first; one != nullptr; one = one->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) != 0)
      continue;
    if (std::ranges::find(addresses, text.data()) == addresses.end())
      addresses.emplace_back(text.data());
  }
  return addresses;
}

void ask(const std::string& name, LookedUp& answer) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* first = nullptr;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &hints, &first);
  std::vector<std::string> addresses = texts_of(first);
  if (first != nullptr) ::freeaddrinfo(first);
  const std::lock_guard lock(answer.mutex);
  answer.error = error;
  answer.addresses = std::move(addresses);
  answer.there = true;
  answer.arrived.notify_all();
}

/// False where the host gives us no thread.
bool ask_in_background(const std::string& name, const std::shared_ptr<LookedUp>& answer) {
  try {
    std::thread([name, answer] { ask(name, *answer); }).detach();
    return true;
  } catch (const std::system_error&) {
    return false;
  }
}

std::string_view next_word(std::string_view& line) {
  constexpr std::string_view kBlanks = " \t\r";
  line.remove_prefix(std::min(line.size(), line.find_first_not_of(kBlanks)));
  const auto word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

NameLookup address_itself(const std::string& address) {
  NameLookup lookup;
  lookup.outcome = NameLookup::Outcome::found;
  lookup.name = address;
  lookup.addresses = {address};
  return lookup;
}

}  // namespace

bool is_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes;
  return ::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

NameLookup look_up(const std::string& name, Duration deadline) {
  if (is_address(name)) return address_itself(name);
  NameLookup lookup;
  lookup.name = name;
  const TimePoint began = Clock::now();
  const auto answer = std::make_shared<LookedUp>();
  if (!ask_in_background(name, answer)) return lookup;
  std::unique_lock lock(answer->mutex);
  const bool there = answer->arrived.wait_for(lock, deadline, [&] { return answer->there; });
  lookup.took = std::chrono::duration_cast<Duration>(Clock::now() - began);
  if (!there) {
    lookup.outcome = NameLookup::Outcome::late;
  } else if (answer->error != 0) {
    lookup.outcome = NameLookup::Outcome::unknown;
    lookup.why = ::gai_strerror(answer->error);
  } else {
    lookup.outcome = NameLookup::Outcome::found;
    lookup.addresses = answer->addresses;
  }
  return lookup;
}

std::vector<std::string> addresses_in_hosts(std::string_view hosts, std::string_view name) {
  const std::string wanted = lower(name);  // capitals mean nothing in a host name
  std::vector<std::string> addresses;
  while (!hosts.empty()) {
    std::string_view line = take_word(hosts, '\n');
    line = line.substr(0, line.find('#'));
    const auto address = next_word(line);
    for (auto word = next_word(line); !word.empty(); word = next_word(line))
      if (lower(word) == wanted) addresses.emplace_back(address);
  }
  return addresses;
}

NameLookup look_up_in_hosts_file(const std::string& name) {
  if (is_address(name)) return address_itself(name);
  NameLookup lookup;
  lookup.name = name;
  lookup.addresses = addresses_in_hosts(read_whole("/etc/hosts").value_or(""), name);
  if (!lookup.addresses.empty()) lookup.outcome = NameLookup::Outcome::found;
  return lookup;
}

}  // namespace safelaunch::host
