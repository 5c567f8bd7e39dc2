#pragma once

#include <sys/socket.h>

#include <optional>
#include <string>

namespace safelaunch::agree {

/// An IPv4 or IPv6 address with a port, as the kernel takes it.
class SocketAddress {
 public:
  /// `address` is no name: "10.0.0.1", "fe80::1%eth0".
  [[nodiscard]] static std::optional<SocketAddress> parse(const std::string& address,
                                                          const std::string& port);

  [[nodiscard]] int family() const { return storage_.ss_family; }
  [[nodiscard]] const sockaddr* pointer() const {
    return reinterpret_cast<const sockaddr*>(&storage_);
  }
  [[nodiscard]] socklen_t size() const { return size_; }
  /// Whether it stands for all interfaces: 0.0.0.0, ::.
  [[nodiscard]] bool is_wildcard() const;

 private:
  sockaddr_storage storage_{};
  socklen_t size_ = 0;
};

}  // namespace safelaunch::agree
