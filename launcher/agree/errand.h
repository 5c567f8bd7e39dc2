#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

namespace safelaunch::agree {

/// Does what may block, one thing at a time, on a thread of its own, and hands the result to the
/// event loop: a name server that is gone holds getaddrinfo(3) for half a minute, longer than a
/// lease, and a file server holds a read for as long as it likes. A thread that nobody waits for
/// any more is left behind.
class Errand {
 public:
  explicit Errand(boost::asio::io_context& io) : pipe_(io) {}
  Errand(const Errand&) = delete;
  Errand& operator=(const Errand&) = delete;
  ~Errand() { stop(); }

  /// `done` gets what `work` returns, from the event loop; never after stop(), or after this object
  /// is gone. It gets nullopt where an earlier work has not come back yet. `work` owns what it
  /// uses.
  template <class Work, class Done>
  void run(Work work, Done done) {
    auto result = std::make_shared<std::optional<std::invoke_result_t<Work>>>();
    start([result, work = std::move(work)] { result->emplace(work()); },
          [result, done = std::move(done)] { done(std::move(*result)); });
  }
  void stop();

 private:
  struct Thread;
  void start(std::function<void()> work, std::function<void()> done);

  boost::asio::posix::stream_descriptor pipe_;  ///< readable when the thread is done
  std::shared_ptr<bool> wanted_;                ///< whether the result is still wanted
  std::shared_ptr<Thread> thread_;              ///< the newest one
};

}  // namespace safelaunch::agree
