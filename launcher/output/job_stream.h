#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "lane.h"
#include "safelaunch/base/time.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/output/job_output.h"
#include "safelaunch/output/recording.h"

namespace safelaunch::output {

/// The reading end of a pipe or pseudo-terminal. Once it was asked to wait, Asio keeps a descriptor
/// in its epoll set, and each write wakes us even if no handler waits. So the descriptor can be
/// taken out.
class ReadEnd {
 public:
  ReadEnd(boost::asio::io_context& io, UniqueFd fd) : io_(io), fd_(std::move(fd)) {}
  ReadEnd(const ReadEnd&) = delete;
  ReadEnd& operator=(const ReadEnd&) = delete;
  ~ReadEnd() { close(); }

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] bool is_open() const { return static_cast<bool>(fd_); }

  /// Calls `handler(error)` when there is something to read. False if the kernel refuses to watch.
  template <class Handler>
  [[nodiscard]] bool wait(Handler handler) {
    boost::system::error_code refused;
    if (!watched_) watched_.emplace(io_).assign(fd(), refused);
    if (refused) {
      watched_.reset();
      return false;
    }
    watched_->async_wait(boost::asio::posix::stream_descriptor::wait_read, std::move(handler));
    return true;
  }

  /// Ends the wake-ups until the next wait().
  void ignore() {
    if (watched_) watched_->release();
    watched_.reset();
  }

  void close() {
    ignore();
    fd_.reset();
  }

 private:
  boost::asio::io_context& io_;
  UniqueFd fd_;
  std::optional<boost::asio::posix::stream_descriptor> watched_;
};

/// One stream of one process, and the places to which it goes.
struct JobStream {
  JobStream(StreamId whose, boost::asio::io_context& io, UniqueFd fd)
      : id(whose), read_end(io, std::move(fd)) {}

  StreamId id;
  ReadEnd read_end;  ///< closed once the stream has ended
  std::optional<Recording> recording;
  bool told_loss = false;  ///< the loss of its recording was told
  Tail tail;
  bool shown = true;
  std::shared_ptr<Lane> lane;  ///< none: its bytes are shown as they come
  std::size_t lane_source = 0;
  bool parked = false;  ///< there are bytes to read, but nobody takes them yet
  TimePoint last_read{};
};

}  // namespace safelaunch::output
