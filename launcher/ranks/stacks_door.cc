#include "safelaunch/ranks/stacks_door.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <set>

#include "safelaunch/base/time.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/local_socket.h"

// A visitor is let in if it is of our own user. The first visitor that waits causes the question to
// the ranks, and its answer goes to all of them. Nobody is waited for: a visitor that does not take
// its answer within five seconds is sent off.
namespace safelaunch::ranks {
namespace {

using boost::asio::posix::stream_descriptor;

// Eight visitors suffice for people; a program that polls is turned away.
constexpr std::size_t kMostVisitors = 8;
constexpr Duration kTakesItWithin{5'000};

}  // namespace

struct StacksDoor::State : std::enable_shared_from_this<State> {
  struct Visitor {
    Visitor(boost::asio::io_context& io, UniqueFd fd) : socket(io, fd.release()), patience(io) {}
    stream_descriptor socket;
    boost::asio::steady_timer patience;
    std::shared_ptr<const std::string> answer;  // none: it waits for one
    std::size_t taken = 0;
  };
  using Visit = std::shared_ptr<Visitor>;

  State(boost::asio::io_context& context, UniqueFd fd, OnQuestion callback)
      : io(context), acceptor(context, fd.release()), on_question(std::move(callback)) {}

  void accept_next() {
    acceptor.async_wait(stream_descriptor::wait_read,
                        [self = shared_from_this()](const boost::system::error_code& error) {
                          if (error || !self->open) return;
                          self->accept_one();
                          if (self->open) self->accept_next();
                        });
  }

  // Without a free descriptor accept() fails, and the waiting visitor would wake the event loop for
  // ever.
  void accept_one() {
    UniqueFd fd(
        ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return errno == EMFILE || errno == ENFILE ? shut() : void();
    const auto peer = host::peer_of(fd.get());
    if (!peer || peer->uid != ::geteuid() || visits.size() >= kMostVisitors) return;
    visits.insert(std::make_shared<Visitor>(io, std::move(fd)));
    if (std::exchange(asked, true)) return;
    on_question();
  }

  void answer_all(const std::shared_ptr<const std::string>& text) {
    asked = false;
    for (const Visit& visit : visits) {
      if (visit->answer) continue;
      visit->answer = text;
      visit->patience.expires_after(kTakesItWithin);
      visit->patience.async_wait(
          [self = shared_from_this(), visit](const boost::system::error_code& cancelled) {
            if (!cancelled) self->send_off(visit);
          });
      write_next(visit);
    }
  }

  void write_next(const Visit& visit) {
    visit->socket.async_wait(
        stream_descriptor::wait_write,
        [self = shared_from_this(), visit](const boost::system::error_code& error) {
          if (error || !self->open) return self->send_off(visit);
          self->write_some(visit);
        });
  }

  void write_some(const Visit& visit) {
    const std::string& text = *visit->answer;
    const ssize_t sent = ::send(visit->socket.native_handle(), text.data() + visit->taken,
                                text.size() - visit->taken, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return send_off(visit);
    visit->taken += static_cast<std::size_t>(std::max<ssize_t>(sent, 0));
    visit->taken < text.size() ? write_next(visit) : send_off(visit);
  }

  void send_off(const Visit& visit) {
    boost::system::error_code ignored;
    visit->patience.cancel();
    visit->socket.close(ignored);
    visits.erase(visit);
  }

  void shut() {
    open = false;
    boost::system::error_code ignored;
    acceptor.close(ignored);
    for (const Visit& visit : std::set<Visit>(visits)) send_off(visit);
  }

  boost::asio::io_context& io;
  stream_descriptor acceptor;
  OnQuestion on_question;
  bool open = true;
  bool asked = false;  // an answer is under way
  std::set<Visit> visits;
};

std::unique_ptr<StacksDoor> StacksDoor::open(boost::asio::io_context& io, const std::string& name,
                                             OnQuestion on_question) {
  auto fd = host::listen_locally(name, SOCK_STREAM);
  if (!fd) return nullptr;
  auto state = std::make_shared<State>(io, std::move(*fd), std::move(on_question));
  state->accept_next();
  return std::unique_ptr<StacksDoor>(new StacksDoor(std::move(state)));
}

StacksDoor::StacksDoor(std::shared_ptr<State> state) : state_(std::move(state)) {}

StacksDoor::~StacksDoor() {
  state_->shut();
}

void StacksDoor::answer(const std::string& text) {
  state_->answer_all(std::make_shared<const std::string>(text));
}

}  // namespace safelaunch::ranks
