#include "tcp_board.h"

#include <deque>
#include <iterator>
#include <utility>
#include <variant>

#include "safelaunch/base/alarm.h"

// TcpAgent decides, and its actions are performed here in their order: connect, send, tell the
// listener. The listener may call the board from within such a call, so actions wait in a queue,
// and only the outermost call performs them.
namespace safelaunch::agree {

/// Shared with what is under way on the event loop, so that the board can be destroyed by what its
/// own listener does.
struct TcpBoard::Shell : std::enable_shared_from_this<Shell>, FrameStream::Listener {
  Shell(boost::asio::io_context& context, const BoardConfig& config, Board::Listener& hears,
        const Dialer::Find& find)
      : io(context),
        agent(config),
        dialer(find ? Dialer(context, find) : Dialer(context, config.address.hosts.at(0))),
        timer(context),
        listener(&hears) {}

  // The listener may call the board again. Its wishes then come behind the actions that are still
  // to do, because sealed frames must go out in the order in which they were sealed.
  void perform(TcpAgent::Actions actions) {
    const auto self = shared_from_this();
    std::move(actions.begin(), actions.end(), std::back_inserter(to_do));
    if (performing) return;
    performing = true;
    while (!to_do.empty() && listener != nullptr) {
      const TcpAgent::Action action = std::move(to_do.front());
      to_do.pop_front();
      std::visit([this](const auto& one) { act(one); }, action);
    }
    performing = false;
    set_timer();
  }

  void shut() {
    listener = nullptr;
    left = nullptr;
    dialer.stop();
    timer.cancel();
    if (stream) stream->close();
  }

  // The actions of the agent.
  void act(const TcpAgent::Connect& /*action*/) {
    dialer.dial([this](Result<UniqueFd> socket) {
      if (!socket) return perform(agent.not_connected(socket.error(), Clock::now()));
      stream = std::make_shared<FrameStream>(io, std::move(*socket), kLongestOfStranger, *this);
      stream->start();
      perform(agent.connected(Clock::now()));
    });
  }
  void act(const TcpAgent::Send& action) { stream->send(action.frame); }
  void act(const TcpAgent::Disconnect& /*action*/) {
    dialer.stop();
    if (stream) stream->close();
  }
  void act(const TcpAgent::Gone& /*action*/) {
    if (const auto done = std::exchange(left, nullptr)) done();
  }
  void act(const auto& event) { listener->hear(event); }

  // The events of the connection.
  void frame_came(FrameStream& from, const std::string& body) override {
    if (&from != stream.get()) return;
    perform(agent.came(body, Clock::now()));
    from.allow(agent.longest_body());
  }
  void stream_ended(FrameStream& which, const std::string& why) override {
    if (&which != stream.get()) return;
    perform(agent.broken(why, Clock::now()));
  }

  void set_timer() {
    const auto deadline = listener == nullptr ? std::nullopt : agent.deadline();
    if (deadline == timer_is_for) return;
    timer_is_for = deadline;
    timer.cancel();
    if (!deadline) return;
    timer.set(*deadline, [this] {
      timer_is_for.reset();
      perform(agent.time_passed(Clock::now()));
    });
  }

  boost::asio::io_context& io;
  std::deque<TcpAgent::Action> to_do;
  bool performing = false;
  TcpAgent agent;
  Dialer dialer;
  Alarm timer;
  std::optional<TimePoint> timer_is_for;
  std::shared_ptr<FrameStream> stream;
  Board::Listener* listener;  ///< nullptr: the board is gone
  std::function<void()> left;
};

TcpBoard::TcpBoard(boost::asio::io_context& io, const BoardConfig& config, Listener& listener,
                   const Dialer::Find& find)
    : shell_(std::make_shared<Shell>(io, config, listener, find)) {}

TcpBoard::~TcpBoard() {
  shell_->shut();
}

void TcpBoard::claim(const Claim& claim) {
  shell_->perform(shell_->agent.claim(claim, Clock::now()));
}

void TcpBoard::publish(std::string text) {
  shell_->perform(shell_->agent.publish(std::move(text)));
}

void TcpBoard::say(Word word) {
  shell_->perform(shell_->agent.say(std::move(word)));
}

void TcpBoard::leave(std::function<void()> left) {
  shell_->left = std::move(left);
  shell_->perform(shell_->agent.leave(Clock::now()));
}

}  // namespace safelaunch::agree
