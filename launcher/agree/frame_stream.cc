#include "frame_stream.h"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

// Frames are gathered and go out at the next turn of the loop. An error of writing does not end the
// stream: the peer's last words may still be unread, and the reader meets the end behind them.
namespace safelaunch::agree {
namespace {

using boost::asio::posix::stream_descriptor;

// Read by one peer at a time: thousands of idle connections need no buffer of their own.
constexpr std::size_t kReadAtOnce = 65'536;

}  // namespace

FrameStream::FrameStream(boost::asio::io_context& io, UniqueFd socket, std::size_t longest,
                         Listener& listener)
    : socket_(io, socket.release()), reader_(longest), listener_(&listener) {}

void FrameStream::start() {
  read_next();
}

void FrameStream::close() {
  listener_ = nullptr;
  boost::system::error_code ignored;
  socket_.close(ignored);
}

void FrameStream::fail(const std::string& why) {
  if (!open()) return;
  Listener& listener = *listener_;
  close();
  listener.stream_ended(*this, why);
}

void FrameStream::read_next() {
  socket_.async_wait(stream_descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!self->open()) return;
                       if (error) return self->fail(error.message());
                       self->read_some();
                     });
}

void FrameStream::read_some() {
  std::array<char, kReadAtOnce> buffer;
  const ssize_t got = ::recv(socket_.native_handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got == 0) return fail("has closed the connection");
  if (got < 0 && errno != EAGAIN && errno != EINTR) return fail(strerror(errno));
  if (got > 0) hand_on({buffer.data(), static_cast<std::size_t>(got)});
  if (open()) read_next();
}

void FrameStream::hand_on(std::string_view bytes) {
  while (open() && !bytes.empty()) {
    const auto body = reader_.take(bytes);
    if (!body) return fail("sends " + body.error().message);
    if (*body) listener_->frame_came(*this, **body);
  }
}

void FrameStream::send(std::string frame) {
  if (!open()) return;
  outgoing_.erase(0, std::exchange(taken_, 0));
  if (outgoing_.empty())
    outgoing_ = std::move(frame);
  else
    outgoing_ += frame;
  if (!std::exchange(writing_, true)) write_soon();
}

void FrameStream::write_soon() {
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] { self->write_some(); });
}

void FrameStream::write_some() {
  if (!open()) return;
  const ssize_t sent = ::send(socket_.native_handle(), outgoing_.data() + taken_, waiting(),
                              MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return stop_writing();
  if (sent > 0) taken_ += static_cast<std::size_t>(sent);
  if (waiting() > 0) return wait_for_room();
  outgoing_ = {};  // gives the memory back
  taken_ = 0;
  writing_ = false;
}

// The peer has gone. Its last words may not be read yet; the reader meets the end behind them.
void FrameStream::stop_writing() {
  outgoing_ = {};
  taken_ = 0;
}

bool FrameStream::delivered() {
  int in_kernel = 0;
  return waiting() == 0 &&
         (::ioctl(socket_.native_handle(), SIOCOUTQ, &in_kernel) != 0 || in_kernel == 0);
}

void FrameStream::wait_for_room() {
  socket_.async_wait(stream_descriptor::wait_write,
                     [self = shared_from_this()](const boost::system::error_code& error) {
                       if (!self->open()) return;
                       if (error) return self->fail(error.message());
                       self->write_some();
                     });
}

}  // namespace safelaunch::agree
