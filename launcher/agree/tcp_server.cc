#include "tcp_server.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "safelaunch/base/format.h"
#include "safelaunch/base/unique_fd.h"

// A connection is a stranger until its introduction proves the token, and an agent from then on.
// The two have room of their own: a crowd of strangers pushes out its oldest, never an agent,
// and one agent too many pushes out the one that has been silent longest.
namespace safelaunch::agree {
namespace {

using boost::asio::posix::stream_descriptor;

constexpr Duration kProvesWithin{5'000};
constexpr Duration kSweepEvery{1'000};
// After so many the loop turns to the agents that are in, so a flood at the door does not keep them
// waiting.
constexpr int kAcceptAtOnce = 64;
// An agent that has not taken four of the longest texts does not read any more.
constexpr std::size_t kMostWaiting = 4 * kLongestBody;

/// Raises our limit of descriptors to what is needed, where the system allows it. Says how many we
/// may have.
std::size_t allow_descriptors(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur >= wanted) return limit.rlim_cur;
  const rlimit raised{std::min<rlim_t>(wanted, limit.rlim_max), limit.rlim_max};
  return ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
}

std::string address_of(const sockaddr_storage& address, socklen_t size) {
  char text[NI_MAXHOST] = "";
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&address), size, text, sizeof text, nullptr, 0,
                NI_NUMERICHOST);
  return text;
}

Error cannot_listen(int error) {
  return Error{error == EADDRINUSE ? Errc::blocked : Errc::os, strerror(error)};
}

}  // namespace

ServerRoom room_for(int seats, std::size_t descriptors) {
  constexpr std::size_t kFewest = 128;
  const auto nodes = static_cast<std::size_t>(std::max(seats, 1));
  const std::size_t all = std::min(3 * nodes + kFewest, descriptors - descriptors / 4);
  return {all, std::min(2 * nodes + kFewest / 2, all - all / 4)};
}

std::size_t descriptors_for(int seats) {
  return room_for(seats, std::numeric_limits<std::size_t>::max()).all * 4 / 3 + 1;
}

struct TcpServer::State : std::enable_shared_from_this<State>, FrameStream::Listener {
  using Line = std::list<FrameStream*>;
  struct Visitor {
    Peer number = 0;
    std::shared_ptr<FrameStream> stream;
    std::string address;             ///< without its port
    Line::iterator place{};          ///< its place in the line of strangers
    TimePoint heard = Clock::now();  ///< when it was heard last; for a stranger: when it came
    BoardHandshake handshake{};
    bool judged = false;
    std::optional<Session> session{};  ///< none: a stranger
  };

  State(boost::asio::io_context& context, TcpServer::Listener& hears)
      : io(context),
        timer(context),
        listener(&hears),
        spare(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {}

  void shut() {
    listener = nullptr;
    boost::system::error_code ignored;
    for (stream_descriptor& door : doors) door.close(ignored);
    timer.cancel();
    for (auto& [stream, visitor] : visitors) stream->close();
    visitors.clear();
  }

  // At the doors.
  void accept_next(stream_descriptor& door) {
    door.async_wait(stream_descriptor::wait_read,
                    [self = shared_from_this(), &door](const boost::system::error_code& error) {
                      if (error || self->listener == nullptr) return;
                      for (int i = 0; i < kAcceptAtOnce && self->accept_one(door); ++i) {
                      }
                      self->accept_next(door);
                    });
  }

  bool accept_one(stream_descriptor& door) {
    sockaddr_storage from{};
    socklen_t size = sizeof from;
    UniqueFd fd(::accept4(door.native_handle(), reinterpret_cast<sockaddr*>(&from), &size,
                          SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return errno == EMFILE || errno == ENFILE ? make_place(door) : errno == ECONNABORTED;
    if (visitors.size() >= room.all) drop(*strangers.front());  // agents alone do not fill it
    const int on = 1;
    ::setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    auto stream = std::make_shared<FrameStream>(io, std::move(fd), kLongestOfStranger, *this);
    Visitor visitor{++last_number, stream, address_of(from, size),
                    strangers.insert(strangers.end(), stream.get())};
    stream->send(framed(visitor.handshake.greeting()));
    numbers.emplace(visitor.number, stream.get());
    visitors.emplace(stream.get(), std::move(visitor));
    stream->start();
    return true;
  }

  // Without a stranger to let go, the spare descriptor lets us take the connection and close it:
  // left alone in the backlog it would wake us for ever.
  bool make_place(stream_descriptor& door) {
    if (!strangers.empty()) {
      drop(*strangers.front());
      return true;
    }
    spare.reset();
    UniqueFd(::accept4(door.native_handle(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
    spare.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    return false;
  }

  /// Says whether it was an agent.
  bool forget(FrameStream& stream) {
    const auto found = visitors.find(&stream);
    if (found == visitors.end()) return false;
    const Visitor visitor = std::move(found->second);
    visitors.erase(found);
    numbers.erase(visitor.number);
    visitor.stream->close();
    if (visitor.session)
      --agents;
    else
      strangers.erase(visitor.place);
    return visitor.session.has_value();
  }

  void drop(FrameStream& stream) {
    const auto found = visitors.find(&stream);
    if (found == visitors.end()) return;
    const Peer number = found->second.number;
    if (forget(stream) && listener != nullptr) listener->agent_gone(number);
  }

  // The events of the streams.
  void frame_came(FrameStream& stream, const std::string& body) override {
    const auto found = visitors.find(&stream);
    if (found == visitors.end()) return;
    Visitor& visitor = found->second;
    if (!visitor.judged) return judge(visitor, body);
    if (!visitor.session) return;  // it was refused, and has not gone yet
    visitor.heard = Clock::now();
    const auto opened = visitor.session->incoming.open(body);
    const auto message = opened ? wire::agent_message(*opened) : Error{};
    if (!message) return drop(stream);
    listener->agent_says(visitor.number, *message);
  }

  void stream_ended(FrameStream& stream, const std::string& /*why*/) override { drop(stream); }

  void judge(Visitor& visitor, const std::string& introduction) {
    BoardHandshake::Answer answer = visitor.handshake.judge(introduction, token, job);
    visitor.judged = true;
    if (answer.verdict.empty()) return drop(*visitor.stream);
    if (answer.session && agents >= room.agents) drop(most_silent_agent());
    visitor.stream->send(framed(answer.verdict));
    if (!answer.session) return listener->agent_turned_away(visitor.address, answer.turned_away);
    visitor.session = std::move(answer.session);
    visitor.stream->allow(kLongestBody);
    strangers.erase(visitor.place);
    ++agents;
  }

  // Connections that broke without a word are still here, beside those that took their place.
  [[nodiscard]] FrameStream& most_silent_agent() {
    const auto silence = [](const auto& one) {
      return one.second.session ? one.second.heard : TimePoint::max();
    };
    return *std::ranges::min_element(visitors, {}, silence)->first;
  }

  // Once a second: strangers that prove nothing, and agents that are silent for too long.
  void sweep() {
    const TimePoint now = Clock::now();
    std::vector<FrameStream*> late;
    for (const auto& [stream, visitor] : visitors) {
      const Duration patience = visitor.session ? silent_for : kProvesWithin;
      if (now - visitor.heard > patience) late.push_back(stream);
    }
    for (FrameStream* stream : late) drop(*stream);
    timer.expires_after(kSweepEvery);
    timer.async_wait([self = shared_from_this()](const boost::system::error_code& cancelled) {
      if (!cancelled && self->listener != nullptr) self->sweep();
    });
  }

  boost::asio::io_context& io;
  std::list<stream_descriptor> doors;
  boost::asio::steady_timer timer;
  TcpServer::Listener* listener;  ///< nullptr: the server is gone
  UniqueFd spare;
  std::string token;
  std::string job;
  ServerRoom room;
  Duration silent_for{};
  Peer last_number = 0;
  std::size_t agents = 0;
  std::unordered_map<FrameStream*, Visitor> visitors;
  std::unordered_map<Peer, FrameStream*> numbers;
  Line strangers;  ///< the one that came first is the first
};

Result<std::unique_ptr<TcpServer>> TcpServer::open(boost::asio::io_context& io,
                                                   const std::vector<SocketAddress>& addresses,
                                                   Listener& listener) {
  auto state = std::make_shared<State>(io, listener);
  int error = EADDRNOTAVAIL;
  for (const SocketAddress& address : addresses) {
    UniqueFd fd(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    // Connections of an earlier life of this board linger for a minute; they do not keep the port.
    const int on = 1;
    if (!fd || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        ::bind(fd.get(), address.pointer(), address.size()) != 0 ||
        ::listen(fd.get(), SOMAXCONN) != 0)
      error = errno;
    else
      state->doors.emplace_back(io, fd.release());
  }
  if (state->doors.empty()) return cannot_listen(error);
  return std::unique_ptr<TcpServer>(new TcpServer(std::move(state)));
}

TcpServer::~TcpServer() {
  state_->shut();
}

void TcpServer::welcome(std::string token, std::string job, int seats, Duration silent_for) {
  const bool first = state_->job.empty() && state_->token.empty();
  state_->room = room_for(seats, allow_descriptors(descriptors_for(seats)));
  state_->token = std::move(token);
  state_->job = std::move(job);
  state_->silent_for = silent_for;
  if (!first) return;
  for (stream_descriptor& door : state_->doors) state_->accept_next(door);
  state_->sweep();
}

void TcpServer::tell(Peer peer, const wire::FromBoard& message) {
  const auto found = state_->numbers.find(peer);
  if (found == state_->numbers.end()) return;
  FrameStream& stream = *found->second;
  auto& visitor = state_->visitors.at(&stream);
  stream.send(visitor.session->outgoing.close(wire::bytes_of(message)));
  if (stream.waiting() <= kMostWaiting) return;
  boost::asio::post(state_->io, [state = state_, kept = visitor.stream] { state->drop(*kept); });
}

void TcpServer::close(Peer peer) {
  const auto found = state_->numbers.find(peer);
  if (found != state_->numbers.end()) (void)state_->forget(*found->second);
}

std::vector<std::string> TcpServer::endpoints() const {
  std::vector<std::string> endpoints;
  for (stream_descriptor& door : state_->doors) {
    sockaddr_storage here{};
    socklen_t size = sizeof here;
    if (::getsockname(door.native_handle(), reinterpret_cast<sockaddr*>(&here), &size) != 0)
      continue;
    const auto* six =
        reinterpret_cast<sockaddr_in6*>(&here);  // the port is at the same place in both
    endpoints.push_back(fmt::format("{}:{}", address_of(here, size), ntohs(six->sin6_port)));
  }
  return endpoints;
}

bool TcpServer::busy() const {
  return std::ranges::any_of(state_->visitors, [](const auto& one) {
    return one.second.session && !one.second.stream->delivered();
  });
}

}  // namespace safelaunch::agree
