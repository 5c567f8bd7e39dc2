#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstddef>
#include <memory>

#include "frames.h"
#include "safelaunch/base/unique_fd.h"

namespace safelaunch::agree {

/// Carries frames over a connected socket. Frames that send() is given go out when the event loop
/// comes round, several in one system call. An idle stream holds no buffer. The owner calls
/// close(), after which the listener hears nothing more.
class FrameStream : public std::enable_shared_from_this<FrameStream> {
 public:
  class Listener {
   public:
    virtual void frame_came(FrameStream& stream, const std::string& body) = 0;
    /// The connection is closed or broken, or sends what is no frame.
    virtual void stream_ended(FrameStream& stream, const std::string& why) = 0;

   protected:
    ~Listener() = default;
  };

  /// The socket must not block.
  FrameStream(boost::asio::io_context& io, UniqueFd socket, std::size_t longest,
              Listener& listener);

  void start();
  void send(std::string frame);
  void close();

  void allow(std::size_t longest) { reader_.allow(longest); }
  [[nodiscard]] bool open() const { return listener_ != nullptr; }
  /// Bytes that the peer has not taken yet.
  [[nodiscard]] std::size_t waiting() const { return outgoing_.size() - taken_; }
  /// Whether the peer's kernel has all that was sent: it is not lost when we close.
  [[nodiscard]] bool delivered();

 private:
  void read_next();
  void read_some();
  void hand_on(std::string_view bytes);
  void write_soon();
  void write_some();
  void stop_writing();
  void wait_for_room();
  void fail(const std::string& why);

  boost::asio::posix::stream_descriptor socket_;
  FrameReader reader_;
  Listener* listener_;  ///< nullptr: closed
  std::string outgoing_;
  std::size_t taken_ = 0;
  bool writing_ = false;
};

}  // namespace safelaunch::agree
