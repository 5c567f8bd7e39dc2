#include "tcp_host.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <deque>
#include <limits>
#include <unordered_map>
#include <utility>
#include <variant>

#include "board_core.h"
#include "board_memory.h"
#include "makers.h"
#include "safelaunch/base/alarm.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"
#include "safelaunch/host/network.h"
#include "tcp_board.h"
#include "tcp_server.h"

// Node 0's own agent is a peer of the board like all others, with a number that no connection has.
// Its renewal goes before the board's clock: a process that was stopped for long was not silent to
// itself. The board's messages to it arrive through the event loop, never within its own call,
// since its answer may be another call.
namespace safelaunch::agree {
namespace {

// Node 0's own agent; the server counts its peers from 1.
constexpr BoardCore::Peer kOwn = std::numeric_limits<BoardCore::Peer>::max();
// The words that end a job are to reach all, but nobody waits for a node that is gone.
constexpr Duration kFarewell{1'000};
constexpr Duration kLooksAgain{10};
constexpr Duration kResolvesWithin{10'000};

/// The generation of a board without a memory. It is greater than that of every board before.
std::uint64_t generation_by_the_clock() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<Duration>(now).count());
}

Error cannot_keep_board(const BoardConfig& config, const std::string& address, const Error& why) {
  const std::string where = to_string(config.address);
  if (why.code == Errc::blocked)
    return Error{Errc::blocked,
                 fmt::format("node 0 cannot keep the board at {}: another program listens at {} on "
                             "that port. If it is another node of this job on this host, give each "
                             "its --node-rank; else give another port with --rendezvous on every "
                             "node",
                             where, address)};
  return Error{
      Errc::usage,
      fmt::format("node 0 cannot keep the board at {}: {}: {}; two nodes have the number 0, "
                  "or --rendezvous does not name an address of node 0 itself",
                  where, address, why.message)};
}

}  // namespace

struct TcpHost::Shell : std::enable_shared_from_this<Shell>, TcpServer::Listener {
  Shell(boost::asio::io_context& context, BoardConfig wanted, Board::Listener& hears)
      : io(context),
        config(std::move(wanted)),
        timer(context),
        farewell(context),
        listener(&hears) {}

  // The calls of node 0's agent.
  void claim(const Claim& claim) {
    if (!core) open_door(claim);
    hear(kOwn, wire::ClaimsSeat{claim, config.terms});
    renew();
  }

  void open_door(const Claim& claim) {
    memory.emplace(config.memory_folder, claim.job);
    EarlierLife earlier{{}, generation_by_the_clock()};
    if (const auto past = memory->earlier()) {
      const auto patience = left_of_leases(*past, remembered_now(0), told_every(),
                                           config.terms.lease + config.terms.kill_margin);
      if (patience) earlier.until = Clock::now() + *patience;
      earlier.generation = std::max(earlier.generation, past->generation);
    }
    core.emplace(claim.seats, config.terms, earlier);
    server->welcome(config.token, claim.job, claim.seats,
                    2 * (config.terms.lease + config.terms.kill_margin));
  }

  void leave(std::function<void()> done) {
    left = std::move(done);
    if (core) hear(kOwn, wire::Leaves{});
    wait_for_farewell(Clock::now() + kFarewell);
  }

  // Until all have taken what they were told last.
  void wait_for_farewell(TimePoint limit) {
    if (listener == nullptr) return;
    if (!server->busy() || Clock::now() >= limit)
      return boost::asio::post(io, [self = shared_from_this()] {
        if (const auto done = std::exchange(self->left, nullptr)) done();
      });
    farewell.set_after(kLooksAgain, [this, limit] { wait_for_farewell(limit); });
  }

  void shut() {
    listener = nullptr;
    left = nullptr;
    timer.cancel();
    farewell.cancel();
    server.reset();
    if (memory && core && !core->anybody_seated()) {
      memory->forget();
      if (over) over();
    }
    memory.reset();
  }

  // The words of agents, and the answers to them.
  void agent_says(TcpServer::Peer peer, const wire::FromAgent& message) override {
    const auto* claims = std::get_if<wire::ClaimsSeat>(&message);
    if (claims != nullptr) replace(peer, claims->claim);
    const TimePoint now = Clock::now();
    auto told = core->on(peer, message, now);
    if (claims != nullptr && core->is_open(now)) note_turned_away(peer, claims->claim.host, told);
    tell_all(std::move(told));
    set_timer();
  }
  void agent_turned_away(const std::string& address, const std::string& why) override {
    turn_away(fmt::format("an agent at {} was not let in: {}", address, why));
  }
  void agent_gone(TcpServer::Peer peer) override {
    forget(peer);
    core->gone(peer);
  }

  // An agent has one connection, the newest. The one before may be broken without our knowing, and
  // its last frames may be read only now.
  void replace(TcpServer::Peer peer, const Claim& claim) {
    const auto known = peers.find(claim.incarnation);
    if (known != peers.end() && known->second >= peer) return;
    if (known != peers.end()) {
      const TcpServer::Peer former = known->second;
      server->close(former);
      agent_gone(former);
    }
    forget(peer);
    peers[claim.incarnation] = peer;
    incarnations[peer] = claim.incarnation;
  }

  void note_turned_away(TcpServer::Peer peer, const std::string& host,
                        const std::vector<BoardCore::Told>& told) {
    for (const BoardCore::Told& one : told) {
      if (one.to != peer) continue;
      if (const auto* refuses = std::get_if<Refused>(&one.message))
        turn_away(fmt::format("{} was not let in: {}", host, refuses->error.message));
      if (const auto* parks = std::get_if<Parked>(&one.message); parks)
        turn_away(fmt::format("{} is a spare and waits: {}", host, parks->why));
    }
  }

  void turn_away(const std::string& who_and_why) {
    boost::asio::post(io, [self = shared_from_this(), who_and_why] {
      if (self->listener != nullptr) self->listener->hear(TurnedAway{who_and_why});
    });
  }

  void forget(TcpServer::Peer peer) {
    const auto known = incarnations.find(peer);
    if (known == incarnations.end()) return;
    peers.erase(known->second);
    incarnations.erase(known);
  }

  void hear(BoardCore::Peer from, const wire::FromAgent& message) {
    const TimePoint now = Clock::now();
    tell_all(core->on(from, message, now));
    set_timer();
  }

  void tell_all(std::vector<BoardCore::Told> told) {
    for (BoardCore::Told& one : told) {
      if (one.to == kOwn)
        tell_own_agent(std::move(one.message));
      else
        server->tell(one.to, one.message);
    }
  }

  // From the event loop, as every board tells its listener: it may call the board again.
  void tell_own_agent(wire::FromBoard message) {
    for_own_agent.push_back(std::move(message));
    if (for_own_agent.size() > 1) return;
    boost::asio::post(io, [self = shared_from_this()] {
      while (self->listener != nullptr && !self->for_own_agent.empty()) {
        const wire::FromBoard next = std::move(self->for_own_agent.front());
        std::visit([&](const auto& one) { self->pass_on(one); }, next);
        self->for_own_agent.pop_front();
      }
    });
  }

  void pass_on(const wire::Confirms& message) {
    if (message.holds && message.number == asked) listener->hear(Confirmed{asked_at});
  }
  void pass_on(const wire::LetsGo& /*message*/) {}
  void pass_on(const auto& event) { listener->hear(event); }

  // Time.
  [[nodiscard]] Duration told_every() const { return config.terms.lease / 2; }

  void renew() {
    asked_at = Clock::now();
    hear(kOwn, wire::Renews{++asked});
  }

  void remember() {
    if (!core->anybody_seated()) return;
    memory->write(remembered_now(core->generation()));
    write_at = Clock::now() + told_every();
  }

  void set_timer() {
    if (listener == nullptr) return;
    TimePoint next = std::min(asked_at + config.terms.renew_every, write_at);
    if (const auto deadline = core->deadline()) next = std::min(next, *deadline);
    if (timer_is_for == next) return;
    timer_is_for = next;
    timer.set(next, [this] {
      timer_is_for.reset();
      time_passed();
    });
  }

  // Our own agent first: where this process was stopped for long, it was not silent to itself.
  void time_passed() {
    const TimePoint now = Clock::now();
    if (now >= asked_at + config.terms.renew_every) renew();
    tell_all(core->time_passed(now));
    if (now >= write_at) {
      write_at = now + told_every();
      remember();
    }
    set_timer();
  }

  boost::asio::io_context& io;
  BoardConfig config;
  Alarm timer;
  Alarm farewell;
  Board::Listener* listener;  ///< nullptr: the board is gone
  std::unique_ptr<TcpServer> server;
  std::optional<BoardCore> core;  ///< the board itself, from the first claim on
  std::optional<BoardMemory> memory;
  /// The connections by the agents' incarnations.
  std::unordered_map<std::string, TcpServer::Peer> peers;
  std::unordered_map<TcpServer::Peer, std::string> incarnations;
  std::deque<wire::FromBoard> for_own_agent;
  std::function<void()> left;
  std::function<void()> over;  ///< called where the board ends in order
  std::uint64_t asked = 0;     ///< the number of our own agent's newest renewal
  TimePoint asked_at{};
  TimePoint write_at{};
  std::optional<TimePoint> timer_is_for;
};

Result<std::unique_ptr<TcpHost>> TcpHost::open(boost::asio::io_context& io,
                                               const BoardConfig& config, Listener& listener) {
  const Endpoint wanted = endpoint_of(config.address.hosts.at(0));
  const host::NameLookup lookup = host::look_up(wanted.host, kResolvesWithin);
  Error error{Errc::usage, fmt::format("node 0 cannot keep the board at {}: no name server knows "
                                       "{}; give its address with --rendezvous",
                                       to_string(config.address), wanted.host)};
  auto shell = std::make_shared<Shell>(io, config, listener);
  for (const std::string& text : lookup.addresses) {
    const auto address = SocketAddress::parse(text, wanted.port);
    if (!address) continue;
    if (address->is_wildcard())
      return Error{Errc::usage,
                   fmt::format("the board at {} would be open on all interfaces; --rendezvous "
                               "names one address of node 0",
                               to_string(config.address))};
    auto server = TcpServer::open(io, {*address}, *shell);
    if (server) {
      shell->server = std::move(*server);
      return std::unique_ptr<TcpHost>(new TcpHost(std::move(shell)));
    }
    error = cannot_keep_board(config, text, server.error());
  }
  return error;
}

Result<std::unique_ptr<TcpHost>> TcpHost::open_at(boost::asio::io_context& io,
                                                  const BoardConfig& config,
                                                  std::function<void()> over, Listener& listener) {
  auto shell = std::make_shared<Shell>(io, config, listener);
  std::vector<SocketAddress> doors;
  for (const std::string& address : config.own_addresses)
    if (const auto door = SocketAddress::parse(address, "0")) doors.push_back(*door);
  auto server = TcpServer::open(io, doors, *shell);
  if (!server)
    return Error{server.error().code,
                 fmt::format("node 0 cannot keep the board: it cannot listen at {}: {}",
                             join(config.own_addresses, ", "), server.error().message)};
  shell->server = std::move(*server);
  shell->over = std::move(over);
  return std::unique_ptr<TcpHost>(new TcpHost(std::move(shell)));
}

std::vector<std::string> TcpHost::endpoints() const {
  return shell_->server->endpoints();
}

TcpHost::~TcpHost() {
  shell_->shut();
}

void TcpHost::claim(const Claim& claim) {
  shell_->claim(claim);
}

void TcpHost::publish(std::string text) {
  shell_->hear(kOwn, wire::Publishes{std::move(text)});
}

void TcpHost::say(Word word) {
  shell_->hear(kOwn, wire::Says{std::move(word)});
}

void TcpHost::leave(std::function<void()> left) {
  shell_->leave(std::move(left));
}

Result<std::unique_ptr<Board>> make_tcp_board(boost::asio::io_context& io,
                                              const BoardConfig& config,
                                              Board::Listener& listener) {
  if (!config.keeps_board) return std::make_unique<TcpBoard>(io, config, listener);
  auto host = TcpHost::open(io, config, listener);
  if (!host) return host.error();
  return std::unique_ptr<Board>(std::move(*host));
}

}  // namespace safelaunch::agree
