#include "safelaunch/nccl/ras_question.h"

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "safelaunch/base/strings.h"
#include "safelaunch/nccl/ras.h"

namespace safelaunch::nccl {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::size_t kLongestAnswer = 1 << 20;

tcp::endpoint endpoint_of(const std::string& address, error_code& error) {
  const std::size_t colon = std::min(address.rfind(':'), address.size());
  const std::string_view digits =
      std::string_view(address).substr(std::min(colon + 1, address.size()));
  const auto port = number_in<std::uint16_t>(digits);
  return {boost::asio::ip::make_address(address.substr(0, colon), error), port};
}

}  // namespace

class RasQuestion::State : public std::enable_shared_from_this<State> {
 public:
  State(boost::asio::io_context& io, OnAnswer on_answer)
      : io_(io), socket_(io), timer_(io), on_answer_(std::move(on_answer)) {}

  void begin(const std::string& address, Duration limit) {
    timer_.expires_after(limit);
    timer_.async_wait([self = shared_from_this()](const error_code& cancelled) {
      if (!cancelled) self->finish();
    });
    error_code wrong;
    const tcp::endpoint endpoint = endpoint_of(address, wrong);
    if (wrong) return finish();
    socket_.async_connect(endpoint, [self = shared_from_this()](const error_code& error) {
      error ? self->finish() : self->ask();
    });
  }

  void hang_up() {
    on_answer_ = nullptr;
    finish();
  }

 private:
  void ask() {
    boost::asio::async_write(socket_, boost::asio::buffer(kRasQuestion),
                             [self = shared_from_this()](const error_code& error, std::size_t) {
                               error ? self->finish() : self->read();
                             });
  }

  void read() {
    socket_.async_read_some(boost::asio::buffer(buffer_),
                            [self = shared_from_this()](const error_code& error, std::size_t size) {
                              self->answer_.append(self->buffer_.data(), size);
                              error || self->answer_.size() > kLongestAnswer ? self->finish()
                                                                             : self->read();
                            });
  }

  void finish() {
    if (std::exchange(finished_, true)) return;
    error_code ignored;
    socket_.close(ignored);
    timer_.cancel();
    boost::asio::post(io_, [self = shared_from_this()] {
      if (const OnAnswer call = std::exchange(self->on_answer_, nullptr)) call(self->answer_);
    });
  }

  boost::asio::io_context& io_;
  tcp::socket socket_;
  boost::asio::steady_timer timer_;
  OnAnswer on_answer_;
  std::array<char, 4096> buffer_{};
  std::string answer_;
  bool finished_ = false;
};

RasQuestion::RasQuestion(boost::asio::io_context& io, const std::string& address, Duration limit,
                         OnAnswer on_answer)
    : state_(std::make_shared<State>(io, std::move(on_answer))) {
  state_->begin(address, limit);
}

RasQuestion::~RasQuestion() {
  state_->hang_up();
}

}  // namespace safelaunch::nccl
