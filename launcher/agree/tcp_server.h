#pragma once

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "dialer.h"
#include "frame_stream.h"
#include "handshake.h"
#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"
#include "wire.h"

namespace safelaunch::agree {

/// How many connections the server may hold.
struct ServerRoom {
  std::size_t all = 0;     ///< connections in all: strangers may have those that agents leave
  std::size_t agents = 0;  ///< connections of agents that have proven themselves
};

/// The room for a job of so many nodes where the process may have so many descriptors: each agent
/// comes with its old and its new connection at worst, and strangers beside it. A quarter of the
/// descriptors is left to the rest of the program.
[[nodiscard]] ServerRoom room_for(int seats, std::size_t descriptors);

/// The descriptors that a process needs for such a server.
[[nodiscard]] std::size_t descriptors_for(int seats);

/// The door of node 0's board: takes connections on one address, lets agents prove themselves, and
/// hands their messages on. Strangers cost little and get five seconds; a newcomer takes the place
/// of the stranger that has been there longest. An agent that does not read is let go.
class TcpServer {
 public:
  using Peer = std::uint64_t;

  class Listener {
   public:
    virtual void agent_says(Peer peer, const wire::FromAgent& message) = 0;
    virtual void agent_gone(Peer peer) = 0;
    /// A peer was turned away that knows the protocol but not the token, or is of another job.
    virtual void agent_turned_away(const std::string& address, const std::string& why) = 0;

   protected:
    ~Listener() = default;
  };

  /// Listens at these addresses alone. The error: none is free
  /// for us: it is not one of this host, or its port is taken.
  [[nodiscard]] static Result<std::unique_ptr<TcpServer>> open(
      boost::asio::io_context& io, const std::vector<SocketAddress>& addresses, Listener& listener);
  ~TcpServer();

  /// From now on agents of this job are let in, with this token.
  void welcome(std::string token, std::string job, int seats, Duration silent_for);

  void tell(Peer peer, const wire::FromBoard& message);
  /// Closes the connection; agent_gone() does not follow.
  void close(Peer peer);

  /// Where it listens, each "ADDRESS:PORT".
  [[nodiscard]] std::vector<std::string> endpoints() const;
  /// Whether some agent has not taken yet what it was told.
  [[nodiscard]] bool busy() const;

 private:
  struct State;
  explicit TcpServer(std::shared_ptr<State> state) : state_(std::move(state)) {}
  std::shared_ptr<State> state_;
};

}  // namespace safelaunch::agree
