#include "safelaunch/watch/hook_channel.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <deque>
#include <map>

#include "safelaunch/base/format.h"
#include "safelaunch/base/log.h"
#include "safelaunch/base/unique_fd.h"
#include "safelaunch/host/local_socket.h"
#include "safelaunch/host/process_facts.h"

// A connection is heard in turns of some dozens of packets, so one peer cannot keep the others
// waiting. Beyond its budget its packets are thrown away but for the last ones, which are heard
// after a pause or at its end: they hold the stage that it reached last, or its exception.
namespace safelaunch::watch {
namespace {

using boost::asio::posix::stream_descriptor;

// A packet of our hook has at most 60 000 bytes; a longer one is somebody else's.
constexpr std::size_t kPacketLimit = 64 * 1024;

// So many packets of one connection at a time: a peer that floods must not keep the others waiting.
constexpr int kPacketsInTurn = 32;

// Beyond its budget packets are thrown away unread, so many at a time; then it has to wait.
constexpr int kPacketsThrown = 1024;
constexpr Duration kFloodWaits{20};

// The last ones count: the stage that a rank has reached in the end, or the exception that ends it.
constexpr std::size_t kLastKept = 16;

// Connections that have said nothing: more of them than this cannot be workers.
constexpr std::size_t kMostStrangers = 256;
constexpr std::size_t kMostConnections = 16'384;

// The pid of a peer in another pid namespace is 0; its own word is taken for it then.
ProcessId identify(int peer_pid, int said_pid) {
  if (peer_pid <= 0) return {said_pid, 0};
  const auto facts = host::facts_of(peer_pid);
  return facts ? facts->id : ProcessId{peer_pid, 0};
}

}  // namespace

bool PacketBudget::take(TimePoint now) {
  const double passed = std::chrono::duration<double>(now - at_).count();
  left_ = std::min<double>(kAtOnce, left_ + passed * kASecond);
  at_ = now;
  if (left_ < 1) return false;
  left_ -= 1;
  return true;
}

struct HookChannel::State : std::enable_shared_from_this<State> {
  struct Connection {
    explicit Connection(boost::asio::io_context& io, UniqueFd fd)
        : socket(io, fd.release()), pause(io), budget(Clock::now()) {}
    stream_descriptor socket;
    boost::asio::steady_timer pause;
    PacketBudget budget;
    std::deque<std::string> kept;  // the last packets beyond the budget
    bool flooded = false;
    int peer_pid = 0;
    HookSpeaker speaker{};
    bool introduced = false;
  };
  using Number = std::uint64_t;

  State(boost::asio::io_context& context, UniqueFd fd, std::string name, std::string secret,
        Listener& hears)
      : io(context),
        acceptor(context, fd.release()),
        address(std::move(name)),
        token(std::move(secret)),
        listener(hears),
        spare(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {}

  void close() {
    open = false;
    boost::system::error_code ignored;
    acceptor.close(ignored);
    connections.clear();
    if (address.front() != '@') ::unlink(address.c_str());
  }

  void accept_next() {
    acceptor.async_wait(stream_descriptor::wait_read,
                        [self = shared_from_this()](const boost::system::error_code& error) {
                          if (error || !self->open) return;
                          self->accept_one();
                          self->accept_next();
                        });
  }

  void accept_one() {
    UniqueFd fd(
        ::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!fd) return errno == EMFILE || errno == ENFILE ? turn_away() : void();
    const auto peer = host::peer_of(fd.get());
    if (!peer || peer->uid != ::geteuid() || connections.size() >= kMostConnections) return;
    const Number number = ++last_number;
    auto connection = std::make_unique<Connection>(io, std::move(fd));
    connection->peer_pid = peer->pid;
    connections.emplace(number, std::move(connection));
    limit_strangers();
    read_next(number);
  }

  // Out of descriptors: the spare one lets us take the connection and close it; left alone in the
  // backlog it would wake us for ever.
  void turn_away() {
    spare.reset();
    UniqueFd(::accept4(acceptor.native_handle(), nullptr, nullptr, SOCK_CLOEXEC)).reset();
    spare.reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  }

  void limit_strangers() {
    const auto is_stranger = [](const auto& one) { return !one.second->introduced; };
    const auto strangers = std::count_if(connections.begin(), connections.end(), is_stranger);
    if (static_cast<std::size_t>(strangers) <= kMostStrangers) return;
    connections.erase(std::find_if(connections.begin(), connections.end(), is_stranger));
  }

  void read_next(Number number) {
    const auto found = connections.find(number);
    if (found == connections.end()) return;
    found->second->socket.async_wait(
        stream_descriptor::wait_read,
        [self = shared_from_this(), number](const boost::system::error_code& error) {
          if (error || !self->open) return;
          self->read_turn(number);
          self->go_on(number);
        });
  }

  void go_on(Number number) {
    const auto found = connections.find(number);
    if (!open || found == connections.end()) return;
    if (found->second->kept.empty()) return read_next(number);
    found->second->pause.expires_after(kFloodWaits);
    found->second->pause.async_wait(
        [self = shared_from_this(), number](const boost::system::error_code& cancelled) {
          if (cancelled || !self->open) return;
          self->hear_kept(number);
          self->read_turn(number);
          self->go_on(number);
        });
  }

  void read_turn(Number number) {
    int heard = 0;
    for (int i = 0; i < kPacketsThrown && heard < kPacketsInTurn; ++i) {
      const Read read = read_one(number);
      if (read == Read::nothing) return;
      if (read == Read::heard) ++heard;
    }
  }

  // MSG_TRUNC makes the kernel tell the real length of what did not fit.
  ssize_t receive(Connection& connection) {
    return ::recv(connection.socket.native_handle(), buffer.data(), buffer.size(),
                  MSG_DONTWAIT | MSG_TRUNC);
  }

  enum class Read { nothing, heard, kept };

  Read read_one(Number number) {
    const auto found = connections.find(number);
    if (!open || found == connections.end()) return Read::nothing;
    Connection& connection = *found->second;
    ssize_t got = receive(connection);
    // Once, where the other end has closed without having read a question of ours: its last words
    // stand behind that error.
    if (got < 0 && errno == ECONNRESET) got = receive(connection);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Read::nothing;
    const bool whole = got > 0 && static_cast<std::size_t>(got) <= buffer.size();
    const std::string_view packet(buffer.data(), whole ? static_cast<std::size_t>(got) : 0);
    if (whole && !connection.budget.take(Clock::now())) return keep(connection, packet);
    if (whole && take(connection, packet)) return Read::heard;
    hear_kept(number);
    drop(number);
    return Read::nothing;
  }

  Read keep(Connection& connection, std::string_view packet) {
    connection.kept.emplace_back(packet);
    if (connection.kept.size() > kLastKept) {
      connection.kept.pop_front();
      ++unheard;
      if (!std::exchange(connection.flooded, true))
        listener.on_hook_flood(connection.speaker.process);
    }
    return Read::kept;
  }

  void hear_kept(Number number) {
    auto found = connections.find(number);
    if (!open || found == connections.end()) return;
    for (const std::string& packet : std::exchange(found->second->kept, {})) {
      if (!take(*found->second, packet)) return drop(number);
      found = connections.find(number);  // a listener may have closed the channel
      if (!open || found == connections.end()) return;
    }
  }

  /// False if the connection is to be closed.
  bool take(Connection& connection, std::string_view packet) {
    const auto message = read_hook_message(packet, connection.speaker);
    if (!message) {
      log_debug(message.error().message);
      return false;
    }
    if (!connection.introduced) return introduce(connection, *message);
    if (message->name == "hello") return false;
    const ProcessId process = connection.speaker.process;
    listener.on_hook_message(process, *message);
    return true;
  }

  bool introduce(Connection& connection, const HookMessage& message) {
    const auto* hello = std::get_if<HookHello>(&message.body);
    if (hello == nullptr || hello->token != token) return false;
    connection.introduced = true;
    connection.speaker.process = identify(connection.peer_pid, hello->pid);
    listener.on_hook_message(connection.speaker.process, message);
    return true;
  }

  void drop(Number number) {
    const auto found = connections.find(number);
    // A listener may have closed the channel.
    if (found == connections.end()) return;
    const bool known = found->second->introduced;
    const HookSpeaker speaker = found->second->speaker;
    connections.erase(found);
    const bool was_hook = known && speaker.source == Source::hook;
    if (was_hook && find_hook(speaker.process) == nullptr) listener.on_hook_closed(speaker.process);
  }

  // The plugin of a process, which answers nothing, has a connection of its own.
  Connection* find_hook(ProcessId process) {
    for (auto one = connections.rbegin(); one != connections.rend(); ++one)
      if (one->second->introduced && one->second->speaker.source == Source::hook &&
          one->second->speaker.process == process)
        return one->second.get();
    return nullptr;
  }

  boost::asio::io_context& io;
  stream_descriptor acceptor;
  std::string address;
  std::string token;
  Listener& listener;
  UniqueFd spare;
  bool open = true;
  Number last_number = 0;
  std::uint64_t unheard = 0;
  // The connections in the order of their coming.
  std::map<Number, std::unique_ptr<Connection>> connections;
  std::array<char, kPacketLimit> buffer{};
};

Result<std::unique_ptr<HookChannel>> HookChannel::open(boost::asio::io_context& io,
                                                       const std::string& address,
                                                       std::string token, Listener& listener) {
  auto fd = host::listen_locally(address, SOCK_SEQPACKET);
  if (!fd)
    return Error{Errc::os,
                 fmt::format("cannot make the hook's socket {}: {}", address, fd.error().message)};
  auto state = std::make_shared<State>(io, std::move(*fd), address, std::move(token), listener);
  state->accept_next();
  return std::unique_ptr<HookChannel>(new HookChannel(std::move(state)));
}

HookChannel::HookChannel(std::shared_ptr<State> state) : state_(std::move(state)) {}

HookChannel::~HookChannel() {
  state_->close();
}

bool HookChannel::ask(ProcessId process, HookQuestion question, int id) {
  State::Connection* connection = state_->find_hook(process);
  if (connection == nullptr) return false;
  const std::string request = hook_request(question, id);
  return ::send(connection->socket.native_handle(), request.data(), request.size(),
                MSG_DONTWAIT | MSG_NOSIGNAL) == static_cast<ssize_t>(request.size());
}

void HookChannel::drain(ProcessId process) {
  const auto state = state_;  // a listener may destroy us
  std::vector<State::Number> numbers;
  for (const auto& [number, connection] : state->connections)
    if (connection->introduced ? connection->speaker.process == process
                               : connection->peer_pid == process.pid)
      numbers.push_back(number);
  for (const State::Number number : numbers) {
    state->hear_kept(number);
    state->read_turn(number);
    state->hear_kept(number);
  }
}

std::uint64_t HookChannel::unheard() const {
  return state_->unheard;
}

}  // namespace safelaunch::watch
