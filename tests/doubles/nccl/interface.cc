#include "nccl/interface.h"

#include <ifaddrs.h>
#include <net/if.h>

#include <sstream>
#include <vector>

#include "nccl/settings.h"

namespace safelaunch::testing {
namespace {

bool usable(const ifaddrs& one, const std::string& family) {
  if (!one.ifa_addr || !(one.ifa_flags & IFF_UP)) return false;
  const int kind = one.ifa_addr->sa_family;
  if (family == "AF_INET") return kind == AF_INET;
  if (family == "AF_INET6") return kind == AF_INET6;
  return kind == AF_INET || kind == AF_INET6;
}

/// All addresses of the machine, in the kernel's order.
std::vector<NetworkInterface> all_interfaces() {
  std::vector<NetworkInterface> found;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return found;
  for (const ifaddrs* one = first; one; one = one->ifa_next) {
    if (!usable(*one, setting("NCCL_SOCKET_FAMILY").value_or(""))) continue;
    NetworkInterface interface {
      one->ifa_name, {}
    };
    if (one->ifa_addr->sa_family == AF_INET6)
      interface.address.six = reinterpret_cast<const sockaddr_in6&>(*one->ifa_addr);
    else
      interface.address.four = reinterpret_cast<const sockaddr_in&>(*one->ifa_addr);
    found.push_back(interface);
  }
  ::freeifaddrs(first);
  return found;
}

}  // namespace

std::string Address::text() const {
  char host[INET6_ADDRSTRLEN] = "";
  const void* bytes = is_six() ? static_cast<const void*>(&six.sin6_addr) : &four.sin_addr;
  ::inet_ntop(any.sa_family, bytes, host, sizeof host);
  return std::string(host) + "<" + std::to_string(ntohs(is_six() ? six.sin6_port : four.sin_port)) +
         ">";
}

bool matches(const std::string& list, const std::string& name) {
  const bool all_but = list.starts_with('^');
  const bool exact = list.substr(all_but).starts_with('=');
  std::istringstream words(list.substr(std::size_t(all_but) + std::size_t(exact)));
  bool found = false;
  for (std::string word; std::getline(words, word, ',');)
    found = found || (exact ? name == word : name.starts_with(word));
  return found != all_but;
}

std::optional<NetworkInterface> chosen_interface() {
  std::vector<std::string> rules{"ib", "^docker,lo,virbr", "docker", "lo", "virbr"};
  const std::string wish = setting("NCCL_SOCKET_IFNAME").value_or("");
  if (wish.size() > 1) rules = {wish};  // NCCL takes no notice of a single letter
  const auto interfaces = all_interfaces();
  for (const std::string& rule : rules)
    for (const NetworkInterface& one : interfaces)
      if (matches(rule, one.name)) return one;
  return std::nullopt;
}

}  // namespace safelaunch::testing
