#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "safelaunch/base/result.h"
#include "safelaunch/base/time.h"

namespace boost::asio {
class io_context;
}

/// Several nodes: one agent (the safelaunch of a node) each, and the board on which they meet.
namespace safelaunch::agree {

/// How long an agent is believed, and how long others wait for it. All agents of a job have the
/// same terms; the board refuses one with others.
struct Terms {
  /// An agent whose board has not confirmed it for so long ends its ranks, at once and by SIGKILL.
  Duration lease = std::chrono::seconds(10);
  /// It asks for a confirmation so often.
  Duration renew_every = std::chrono::seconds(2);
  /// The board frees a seat this long after the lease: by then the ranks of the holder are gone.
  /// It covers the kill, and clocks that run apart by up to 1 % of the lease.
  Duration kill_margin = std::chrono::seconds(3);
};

/// With a lease of that length, at least 5 s; the margin grows with it, since clocks may run apart.
[[nodiscard]] constexpr Terms terms_of(Duration lease) {
  Terms terms;
  terms.kill_margin = std::max(terms.kill_margin, std::chrono::seconds(1) + lease / 50);
  terms.lease = lease;
  return terms;
}

/// The wish of an agent at the board.
struct Claim {
  /// This start of the agent, and no other: 128 random bits in hexadecimal.
  std::string incarnation;
  /// The number of its node; nullopt: any that is free.
  std::optional<int> seat;
  int seats = 1;  ///< the number of nodes of the job; the board refuses a claim with another number
  std::string job;   ///< names the job; the board refuses a claim of another one
  std::string host;  ///< the agent's host, for messages to people
  bool operator==(const Claim&) const = default;
};

/// A place at the board, which one agent holds at a time.
struct Seat {
  int number = 0;
  /// Grows with each holder of seat 0: the leader of an earlier generation is no leader.
  std::uint64_t generation = 0;
  bool operator==(const Seat&) const = default;
};

/// A word that the leader, the holder of seat 0, tells all. The board takes it of the present
/// leader alone, and only where its number is one above that of the word before, whichever leader
/// said that; the very first has number 1.
struct Word {
  std::uint64_t generation = 0;
  std::uint64_t number = 0;
  std::string text;
  bool operator==(const Word&) const = default;
};

/// The last text that the holder of a seat has published.
struct Standing {
  int seat = 0;
  std::string incarnation;
  std::string host;
  std::string text;  ///< empty: it has published nothing yet
  bool operator==(const Standing&) const = default;
};

/// Longest text of a word or a standing, in bytes.
inline constexpr std::size_t kLongestText = 256 * 1024;

// The news of a board.
struct Seated {
  Seat seat;
};
/// All seats (or the one that was wanted) are held by others. Seated may follow when one becomes
/// free. The text names the holder.
struct Parked {
  std::string why;
};
struct Confirmed {
  TimePoint sent;
};
/// A word of the present leader, to all: also to the leader itself, which sees by it that the board
/// has taken it, and to those who are parked. A new leader is told the newest word, whoever said
/// it, before the first Confirmed: its own go on from that number.
struct WordCame {
  Word word;
};
/// To the leader alone, its own seat excepted: a member has come, or has published something.
struct StandingCame {
  Standing standing;
};
/// To the leader: the seat has no holder any more. For seat 0 (the leader's) every agent is told,
/// and so is a member that arrives, or comes back, while there is no leader.
struct SeatVacated {
  int seat = 0;
};
/// The board counts this agent as gone: another one may hold its seat. Nothing follows until the
/// agent claims a seat anew.
struct Unseated {
  std::string why;
};
/// The board cannot be reached, and is tried again; the text says how it fails. When it is reached
/// again, Confirmed shows it.
struct Unreachable {
  std::string why;
};
/// It is of no use to try again: a wrong token, another job, other terms, no such address.
struct Refused {
  Error error;
};
/// To node 0 of a tcp board: an agent that came was not let in, or finds no seat free. The text
/// says who and why, for people; it may come again for the same agent.
struct TurnedAway {
  std::string who_and_why;
};
using BoardEvent = std::variant<Seated, Parked, Confirmed, WordCame, StandingCame, SeatVacated,
                                Unseated, Unreachable, Refused, TurnedAway>;

/// The shared place of the agents of one job, as one of them sees it. It holds three things: the
/// holders of the seats, the leader's newest word, and each member's newest standing. Only the
/// newest of each is kept: an agent that was away misses nothing that still counts.
///
/// Every board makes these promises, whatever its backend:
///   - a seat has one holder at a time. It becomes free when its holder leaves, or when the board
///     has not heard of it for lease + kill_margin;
///   - words come in order and never go back; a word of a former leader is refused;
///   - `Confirmed{sent}` means that the board, after `sent`, still counted this agent as the holder:
///     the agent may let its ranks run until `sent` + lease.
/// All calls and all listener calls are made on the thread of the io_context. A board tries to
/// reach its server again by itself, at most a second apart, until it is destroyed.
class Board {
 public:
  class Listener {
   public:
    virtual void hear(const BoardEvent& event) = 0;

   protected:
    ~Listener() = default;
  };

  virtual ~Board() = default;

  virtual void claim(const Claim& claim) = 0;
  /// Replaces what was published before; kept and sent again until the board has it.
  virtual void publish(std::string text) = 0;
  /// For the leader: the next word. One that the board does not take leads to Unseated.
  virtual void say(Word word) = 0;
  /// Gives the seat back at once: nothing of the job runs here any more. The board is of no further
  /// use. `left` is called when the board knows it, or after a second.
  virtual void leave(std::function<void()> left) = 0;
};

/// The place at which agents meet: "tcp://HOST:PORT", "etcd://HOST:PORT[,HOST:PORT…]", or
/// "file:///FOLDER", where they find out at which HOST:PORT node 0 keeps a board of tcp.
struct Address {
  enum class Backend { tcp, etcd, file };
  Backend backend = Backend::tcp;
  std::vector<std::string> hosts{};  ///< each "HOST:PORT"; a single one for tcp
  std::string folder{};
  bool operator==(const Address&) const = default;
};

/// Reads --rendezvous. The error names the wrong word and the forms that there are.
[[nodiscard]] Result<Address> parse_address(std::string_view text);
[[nodiscard]] std::string to_string(const Address& address);

/// How to reach a board, and who may.
struct BoardConfig {
  Address address;
  Terms terms;
  std::string token;  ///< the secret that all agents of the job share
  /// For tcp: whether this agent is node 0, which keeps the board.
  bool keeps_board = false;
  /// The origin of the token (find_token()), for messages.
  std::string token_from{};
  /// For tcp, on node 0: the folder in which the board remembers, a file a job, that it was there.
  /// One that comes back after a crash gives no seat away before the leases of its earlier life are
  /// over. Empty: it remembers nothing.
  std::string memory_folder{};
  /// For file: the addresses of this host at which its agent listens, should it keep the board.
  std::vector<std::string> own_addresses{};
};

[[nodiscard]] Result<std::unique_ptr<Board>> open_board(boost::asio::io_context& io,
                                                        const BoardConfig& config,
                                                        Board::Listener& listener);

}  // namespace safelaunch::agree
