#include "etcd_client.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <optional>
#include <utility>

#include "dialer.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

namespace safelaunch::agree {
namespace {

namespace http = boost::beast::http;
using boost::system::error_code;

/// Of an answer: the texts of a thousand nodes, and more.
constexpr std::uint64_t kLongestAnswer = 512U << 20U;
constexpr std::size_t kLongestErrorText = 200;

}  // namespace

class EtcdClient::State : public std::enable_shared_from_this<State> {
 public:
  State(boost::asio::io_context& io, std::vector<std::string> hosts)
      : io_(io), hosts_(std::move(hosts)), connection_(io), timer_(io) {}

  void post(const std::string& path, std::string body, Duration within, Answered answered) {
    answered_ = std::move(answered);
    const std::uint64_t question = ++question_;
    request_ = {http::verb::post, path, 11};
    request_.set(http::field::host, host());
    request_.set(http::field::content_type, "application/json");
    request_.body() = std::move(body);
    request_.prepare_payload();
    timer_.expires_after(within);
    timer_.async_wait([self = shared_from_this(), question](error_code error) {
      if (!error && question == self->question_)
        self->fail(fmt::format("has not answered for {}s", self->waits_in_seconds()));
    });
    asked_ = Clock::now();
    if (connection_.is_open()) return write();
    dialer_ = std::make_unique<Dialer>(io_, host());
    dialer_->dial([this](Result<UniqueFd> socket) {  // it belongs to this object
      if (!socket) return fail(reason_of(socket.error().message));
      connection_.assign(socket->release());
      write();
    });
  }

  void stop() {
    ++question_;
    answered_ = nullptr;
    timer_.cancel();
    hang_up();
  }

 private:
  [[nodiscard]] const std::string& host() const { return hosts_[turn_ % hosts_.size()]; }

  /// The dialer speaks of a safelaunch at the other end.
  static std::string reason_of(const std::string& why) {
    return why.starts_with("refuses connections") ? "refuses connections" : why;
  }

  [[nodiscard]] double waits_in_seconds() const {
    return std::chrono::duration<double>(Clock::now() - asked_).count();
  }

  void hang_up() {
    if (dialer_) dialer_->stop();
    error_code ignored;
    connection_.close(ignored);
    buffer_.clear();
  }

  void write() {
    http::async_write(connection_, request_,
                      [self = shared_from_this(), question = question_](error_code error, auto) {
                        if (question != self->question_) return;
                        if (error) return self->fail("has closed the connection");
                        self->read();
                      });
  }

  void read() {
    parser_.emplace();
    parser_->body_limit(kLongestAnswer);
    http::async_read(connection_, buffer_, *parser_,
                     [self = shared_from_this(), question = question_](error_code error, auto) {
                       if (question != self->question_) return;
                       if (error == http::error::end_of_stream || error)
                         return self->fail("has closed the connection");
                       self->conclude();
                     });
  }

  void conclude() {
    auto answer = parser_->release();
    if (!answer.keep_alive()) hang_up();
    if (answer.result() == http::status::ok) return finish(std::move(answer.body()));
    fail(fmt::format("answers {}: {}", answer.result_int(),
                     trimmed(cut(answer.body(), kLongestErrorText))));
  }

  void fail(const std::string& why) {
    const Error error{Errc::peer_lost, fmt::format("etcd at {} {}", host(), why)};
    hang_up();
    ++turn_;
    finish(error);
  }

  void finish(Result<std::string> result) {
    ++question_;
    timer_.cancel();
    if (const Answered answered = std::exchange(answered_, nullptr)) answered(std::move(result));
  }

  boost::asio::io_context& io_;
  const std::vector<std::string> hosts_;
  std::size_t turn_ = 0;
  boost::asio::posix::stream_descriptor connection_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<Dialer> dialer_;
  std::uint64_t question_ = 0;  ///< grows with each; what belongs to a former one is ignored
  TimePoint asked_{};
  http::request<http::string_body> request_;
  std::optional<http::response_parser<http::string_body>> parser_;
  boost::beast::flat_buffer buffer_;
  Answered answered_;
};

EtcdClient::EtcdClient(boost::asio::io_context& io, std::vector<std::string> hosts)
    : state_(std::make_shared<State>(io, std::move(hosts))) {}

EtcdClient::~EtcdClient() {
  state_->stop();
}

void EtcdClient::post(const std::string& path, std::string body, Duration within,
                      Answered answered) {
  state_->post(path, std::move(body), within, std::move(answered));
}

void EtcdClient::stop() {
  state_->stop();
}

}  // namespace safelaunch::agree
