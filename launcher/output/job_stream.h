#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "line_mux.h"
#include "safelaunch/base/alarm.h"
#include "safelaunch/base/time.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/output/job_output.h"
#include "safelaunch/output/recording.h"
#include "safelaunch/output/terminal_writer.h"

namespace safelaunch::output {

/// The lines of all ranks on their way to one stream of ours: a LineMux with its clock. Lines that
/// come within one turn of the io_context are written at once, with one system call for all ranks.
class Lane : public std::enable_shared_from_this<Lane> {
 public:
  /// `on_progress` is called when a source that had to wait may perhaps go on.
  Lane(boost::asio::io_context& io, TerminalWriter& terminal, StdStream stream,
       std::function<void()> on_progress);

  std::size_t add_source(std::string prefix) { return mux_.add_source(std::move(prefix)); }
  void feed(std::size_t source, std::string_view bytes);
  void close(std::size_t source);
  [[nodiscard]] bool accepts(std::size_t source) const { return mux_.accepts(source); }

  /// Writes the gathered lines now.
  void flush();

  /// Tells that the terminal has taken everything that waited for it.
  void terminal_flushed();

 private:
  void gathered();
  void arm();
  void tick();

  boost::asio::io_context& io_;
  TerminalWriter& terminal_;
  StdStream stream_;
  std::function<void()> on_progress_;
  LineMux mux_;
  std::string lines_;
  bool flush_posted_ = false;
  Alarm timer_;
  TimePoint armed_ = TimePoint::max();  // the time at which the timer will fire
};

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
  Tail tail;
  bool shown = true;
  std::shared_ptr<Lane> lane;  ///< none: its bytes are shown as they come
  std::size_t lane_source = 0;
  bool parked = false;  ///< there are bytes to read, but nobody takes them yet
  TimePoint last_read{};
};

}  // namespace safelaunch::output
