#pragma once

#include <sys/socket.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "safelaunch/base/result.h"
#include "safelaunch/base/unique_fd.h"

namespace safelaunch::agree {

/// Asks the resolver for a host's addresses without making the event loop wait: a name server that
/// is gone holds getaddrinfo(3) for half a minute, longer than a lease. The thread that asks is
/// left behind where nobody wants its answer any more.
class NameQuestion {
 public:
  /// Empty: there is no such name, or no answer.
  using Answered = std::function<void(std::vector<std::string> addresses)>;

  explicit NameQuestion(boost::asio::io_context& io) : pipe_(io) {}
  NameQuestion(const NameQuestion&) = delete;
  NameQuestion& operator=(const NameQuestion&) = delete;
  ~NameQuestion() { stop(); }

  /// `answered` comes from the event loop; never after stop(), or after this object is gone.
  void ask(const std::string& name, Answered answered);
  /// `answered` is not called any more.
  void stop();

 private:
  boost::asio::posix::stream_descriptor pipe_;  ///< readable when the thread is done
  std::shared_ptr<bool> wanted_;                ///< whether the answer is still wanted
};

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

/// Connects to "HOST:PORT" by TCP, without making the event loop wait. A host with several
/// addresses is tried at the next one each time.
class Dialer {
 public:
  /// A socket that does not block; the error's message says why there is none: "refuses
  /// connections".
  using Connected = std::function<void(Result<UniqueFd> socket)>;

  Dialer(boost::asio::io_context& io, std::string host_and_port);
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;
  ~Dialer() { stop(); }

  /// Ends what was dialled before. `connected` may be called at once; it is not called after
  /// stop(), or after this object is gone.
  void dial(Connected connected);
  void stop();

 private:
  void connect_to(const std::string& address);
  void conclude(int error);

  std::string host_and_port_;
  NameQuestion question_;
  boost::asio::posix::stream_descriptor socket_;
  boost::asio::steady_timer patience_;
  Connected connected_;
  std::shared_ptr<bool> wanted_;  ///< whether the connection is still wanted
  std::size_t turn_ = 0;
};

}  // namespace safelaunch::agree
