#include "safelaunch/host/interfaces.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

#include "safelaunch/base/unique_fd.h"

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

std::vector<std::string> local_addresses() {
  std::vector<std::string> addresses;
  for (const NetworkInterface& one : network_interfaces())
    if (!one.loopback)
      addresses.insert(addresses.end(), one.addresses.begin(), one.addresses.end());
  return addresses;
}

bool is_loopback_address(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

}  // namespace safelaunch::host
