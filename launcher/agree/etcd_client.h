#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"

namespace boost::asio {
class io_context;
}

namespace safelaunch::agree {

/// Asks etcd over its HTTP gateway, one question at a time, over a connection that it keeps. Where
/// a server fails to answer, the next question goes to the next one.
class EtcdClient {
 public:
  using Answered = std::function<void(Result<std::string> body)>;

  EtcdClient(boost::asio::io_context& io, std::vector<std::string> hosts);
  EtcdClient(const EtcdClient&) = delete;
  EtcdClient& operator=(const EtcdClient&) = delete;
  ~EtcdClient();

  /// `answered` comes from the event loop, within this time; never after stop(), or after this
  /// object is gone.
  void post(const std::string& path, std::string body, Duration within, Answered answered);
  /// Gives up the question that is asked.
  void stop();

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace safelaunch::agree
