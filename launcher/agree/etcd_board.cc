#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <utility>

#include "etcd_client.h"
#include "etcd_member.h"
#include "makers.h"

namespace safelaunch::agree {
namespace {

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
    leave_timer_.expires_after(kLongestGoodbye);
    leave_timer_.async_wait([this, alive = std::weak_ptr(alive_)](auto error) {
      if (!error && !alive.expired()) gone();
    });
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
    // What has been told changes what is wished for.
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
    if (confirmed == nullptr || Clock::now() - confirmed->sent < lease_) tell(listener_, event);
  }

  void wait() {
    wake_timer_.expires_at(member_.wake());
    wake_timer_.async_wait([this, alive = std::weak_ptr(alive_)](auto error) {
      if (!error && !alive.expired()) go_on();
    });
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
  boost::asio::steady_timer wake_timer_;
  boost::asio::steady_timer leave_timer_;
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
