#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "dialer.h"
#include "etcd_member.h"
#include "makers.h"
#include "safelaunch/base/alarm.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/base/time.h"

// EtcdMember decides what to ask. Here the question goes out over one kept connection, and the news
// of its answer go to the listener. A server that fails or is silent is left for the next one, and
// each question has an exchange of its own, so that a late answer to an earlier one is dropped. A
// call of the board only notes the wish, since the listener must not be told anything within the
// caller's call.
namespace safelaunch::agree {
namespace {

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

namespace http = boost::beast::http;
using boost::system::error_code;

/// The longest answer that is read: the texts of a thousand nodes, and more.
constexpr std::uint64_t kLongestAnswer = 512U << 20U;
constexpr std::size_t kLongestErrorText = 200;

class EtcdClient::State : public std::enable_shared_from_this<State> {
 public:
  State(boost::asio::io_context& io, std::vector<std::string> hosts)
      : io_(io), hosts_(std::move(hosts)), connection_(io), timer_(io) {}

  void post(const std::string& path, std::string body, Duration within, Answered answered) {
    answered_ = std::move(answered);
    exchange_ = std::make_shared<Exchange>();
    http::request<http::string_body>& request = exchange_->request;
    request = {http::verb::post, path, 11};
    request.set(http::field::host, host());
    request.set(http::field::content_type, "application/json");
    request.body() = std::move(body);
    request.prepare_payload();
    timer_.expires_after(within);
    timer_.async_wait([self = shared_from_this(), exchange = exchange_](error_code error) {
      if (!error && exchange == self->exchange_)
        self->fail("has not answered for " + describe_duration(self->waited()));
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
    exchange_.reset();
    answered_ = nullptr;
    timer_.cancel();
    hang_up();
  }

 private:
  /// What one question and its answer are written from and read into. A write or read that was
  /// given up may still touch it once, when the next question has been posted.
  struct Exchange {
    http::request<http::string_body> request;
    http::response_parser<http::string_body> parser;
    boost::beast::flat_buffer buffer;
  };

  [[nodiscard]] const std::string& host() const { return hosts_[turn_ % hosts_.size()]; }

  /// The dialer speaks of a safelaunch at the other end.
  static std::string reason_of(const std::string& why) {
    return why.starts_with("refuses connections") ? "refuses connections" : why;
  }

  [[nodiscard]] Duration waited() const {
    return std::chrono::duration_cast<Duration>(Clock::now() - asked_);
  }

  void hang_up() {
    if (dialer_) dialer_->stop();
    error_code ignored;
    connection_.close(ignored);
  }

  void write() {
    http::async_write(connection_, exchange_->request,
                      [self = shared_from_this(), exchange = exchange_](error_code error, auto) {
                        if (exchange != self->exchange_) return;
                        if (error) return self->fail("has closed the connection");
                        self->read();
                      });
  }

  void read() {
    exchange_->parser.body_limit(kLongestAnswer);
    http::async_read(connection_, exchange_->buffer, exchange_->parser,
                     [self = shared_from_this(), exchange = exchange_](error_code error, auto) {
                       if (exchange != self->exchange_) return;
                       if (error == http::error::end_of_stream || error)
                         return self->fail("has closed the connection");
                       self->conclude();
                     });
  }

  void conclude() {
    auto answer = exchange_->parser.release();
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
    exchange_.reset();
    timer_.cancel();
    if (const Answered answered = std::exchange(answered_, nullptr)) answered(std::move(result));
  }

  boost::asio::io_context& io_;
  const std::vector<std::string> hosts_;
  std::size_t turn_ = 0;
  boost::asio::posix::stream_descriptor connection_;
  boost::asio::steady_timer timer_;
  std::unique_ptr<Dialer> dialer_;
  TimePoint asked_{};
  std::shared_ptr<Exchange> exchange_;  ///< of the question that is asked; null: none is
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

/// leave() is answered after so long, whether or not etcd answers.
constexpr Duration kLongestGoodbye{1'000};

/// Asks etcd what EtcdMember wants to know, and tells the listener what that has learnt.
class EtcdBoard final : public Board {
 public:
  EtcdBoard(boost::asio::io_context& io, const BoardConfig& config, Listener& listener)
      : io_(io),
        lease_(config.terms.lease),
        listener_(listener),
        member_(config),
        client_(io, config.address.hosts),
        wake_timer_(io),
        leave_timer_(io) {}

  void claim(const Claim& claim) override {
    wishes_.claim = claim;
    ++wishes_.claims;
    go_on_soon();
  }

  void publish(std::string text) override {
    wishes_.text = std::make_shared<const std::string>(std::move(text));
    ++wishes_.version;
    go_on_soon();
  }

  void say(Word word) override {
    wishes_.words.push_back(std::move(word));
    go_on_soon();
  }

  void leave(std::function<void()> left) override {
    left_ = std::move(left);
    wishes_.leaves = true;
    if (std::exchange(asking_, false)) {
      client_.stop();
      member_.answered(Error{Errc::peer_lost, "the agent leaves"}, Clock::now());
    }
    leave_timer_.set_after(kLongestGoodbye, [this] { gone(); });
    go_on_soon();
  }

 private:
  /// Not within the caller's call: the listener may be told something.
  void go_on_soon() {
    boost::asio::post(io_, [this, alive = std::weak_ptr(alive_)] {
      if (!alive.expired()) go_on();
    });
  }

  void go_on() {
    // The news changes the wishes.
    if (!tell_news() || asking_) return;
    if (const auto request = member_.next(wishes_, Clock::now())) return ask(*request);
    if (tell_news()) wait();
  }

  void ask(const EtcdMember::Request& request) {
    asking_ = true;
    client_.post(std::string(request.path), request.body, member_.patience(),
                 [this, alive = std::weak_ptr(alive_)](const Result<std::string>& body) {
                   if (alive.expired()) return;
                   asking_ = false;
                   member_.answered(body, Clock::now());
                   go_on_soon();
                 });
  }

  /// False where there is no more to do: this object may be gone.
  bool tell_news() {
    const Outcome outcome = member_.told();
    take_note(wishes_, outcome);
    const std::weak_ptr alive(alive_);
    for (const BoardEvent& event : outcome.events) {
      if (!left_) pass_on(event);
      if (alive.expired()) return false;
    }
    if (outcome.left) gone();
    return !outcome.left;
  }

  /// A confirmation that has waited for longer than it is good for allows nothing any more.
  void pass_on(const BoardEvent& event) {
    const auto* confirmed = std::get_if<Confirmed>(&event);
    if (confirmed == nullptr || Clock::now() - confirmed->sent < lease_) listener_.hear(event);
  }

  void wait() {
    wake_timer_.set(member_.wake(), [this] { go_on(); });
  }

  void gone() {
    leave_timer_.cancel();
    if (const auto left = std::exchange(left_, {})) left();
  }

  boost::asio::io_context& io_;
  const Duration lease_;
  Listener& listener_;
  Wishes wishes_;
  EtcdMember member_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
  EtcdClient client_;
  Alarm wake_timer_;
  Alarm leave_timer_;
  std::function<void()> left_;
  bool asking_ = false;
};

}  // namespace

Result<std::unique_ptr<Board>> make_etcd_board(boost::asio::io_context& io,
                                               const BoardConfig& config,
                                               Board::Listener& listener) {
  return std::unique_ptr<Board>(std::make_unique<EtcdBoard>(io, config, listener));
}
}  // namespace safelaunch::agree
