#include "errand.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <boost/asio/io_context.hpp>
#include <system_error>
#include <thread>

#include "safelaunch/base/unique_fd.h"

namespace safelaunch::agree {

/// Shared with the thread. The write end closes when the thread is done, and that wakes the loop.
struct Errand::Thread {
  UniqueFd end;
  std::atomic<bool> works = false;
};

void Errand::stop() {
  if (wanted_) *wanted_ = false;  // a handler that is queued already cannot be cancelled
  boost::system::error_code ignored;
  pipe_.close(ignored);
}

void Errand::start(std::function<void()> work, std::function<void()> done) {
  std::array<int, 2> ends{-1, -1};
  stop();
  wanted_ = std::make_shared<bool>(true);
  const bool can_wait = ::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) == 0;
  if (can_wait) pipe_.assign(ends[0]);
  UniqueFd end(ends[1]);  // closed at once where no thread gets it: so the wait ends at once
  if (can_wait && (!thread_ || !thread_->works)) {
    thread_ = std::make_shared<Thread>();
    thread_->end = std::move(end);
    thread_->works = true;
    try {
      std::thread([thread = thread_, work = std::move(work)] {
        work();
        thread->works = false;
        thread->end.reset();
      }).detach();
    } catch (const std::system_error&) {
      thread_.reset();
    }
  }
  pipe_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                   [this, wanted = wanted_, done = std::move(done)](const auto& /*error*/) {
                     if (!*wanted) return;
                     stop();
                     done();
                   });
}

}  // namespace safelaunch::agree
