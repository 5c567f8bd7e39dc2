#pragma once

#include <sys/socket.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "errand.h"
#include "safelaunch/base/alarm.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/unique_fd.h"

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

/// HOST and PORT of "HOST:PORT"; an IPv6 address loses its brackets.
struct Endpoint {
  std::string host;
  std::string port;
};
[[nodiscard]] Endpoint endpoint_of(const std::string& host_and_port);

/// Connects by TCP, without making the event loop wait. Of several addresses the next one is tried
/// each time.
class Dialer {
 public:
  /// A socket that does not block; the error's message says why there is none: "refuses
  /// connections".
  using Connected = std::function<void(Result<UniqueFd> socket)>;
  /// Gives each "ADDRESS:PORT" that leads there, at least one, from the event loop. It may be asked
  /// anew before it has answered.
  using Found = std::function<void(Result<std::vector<std::string>> endpoints)>;
  using Find = std::function<void(Found found)>;

  Dialer(boost::asio::io_context& io, Find find);
  /// Asks the resolver for the addresses of "HOST:PORT".
  Dialer(boost::asio::io_context& io, const std::string& host_and_port);
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;
  ~Dialer() { stop(); }

  /// Ends what was dialled before. `connected` may be called at once; it is not called after
  /// stop(), or after this object is gone.
  void dial(Connected connected);
  void stop();

 private:
  void ask(const Endpoint& endpoint, const Found& found);
  void connect_to(const Endpoint& endpoint);
  void conclude(int error);

  Errand question_;
  Find find_;
  boost::asio::posix::stream_descriptor socket_;
  Alarm patience_;
  Connected connected_;
  std::shared_ptr<bool> wanted_;  ///< whether the connection is still wanted
  std::size_t turn_ = 0;
};

}  // namespace safelaunch::agree
