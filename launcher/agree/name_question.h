#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

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
  std::shared_ptr<bool> wanted_;                ///< whether the answer still is
};

}  // namespace safelaunch::agree
