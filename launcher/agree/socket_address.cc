#include "socket_address.h"

#include <netdb.h>
#include <netinet/in.h>

#include <cstring>

namespace safelaunch::agree {

std::optional<SocketAddress> SocketAddress::parse(const std::string& address,
                                                  const std::string& port) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (::getaddrinfo(address.c_str(), port.c_str(), &hints, &found) != 0) return std::nullopt;
  SocketAddress result;
  std::memcpy(&result.storage_, found->ai_addr, found->ai_addrlen);
  result.size_ = found->ai_addrlen;
  ::freeaddrinfo(found);
  return result;
}

bool SocketAddress::is_wildcard() const {
  if (storage_.ss_family == AF_INET)
    return reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr.s_addr == INADDR_ANY;
  const auto& six = *reinterpret_cast<const sockaddr_in6*>(&storage_);
  return IN6_IS_ADDR_UNSPECIFIED(&six.sin6_addr);
}

}  // namespace safelaunch::agree
