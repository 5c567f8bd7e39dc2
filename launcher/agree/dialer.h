#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "name_question.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/unique_fd.h"

namespace safelaunch::agree {

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
  std::shared_ptr<bool> wanted_;  ///< whether the connection still is
  std::size_t turn_ = 0;
};

}  // namespace safelaunch::agree
