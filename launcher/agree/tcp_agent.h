#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <variant>

#include "handshake.h"
#include "safelaunch/agree/board.h"
#include "safelaunch/base/time.h"
#include "wire.h"

namespace safelaunch::agree {

/// Decides what an agent does at a board of tcp that another node keeps: when it connects, what it
/// sends again after a broken connection, and what the agent is told. Pure: bytes and time are
/// handed in; TcpBoard performs the actions.
///
///     idle ─ claim ─→ connecting ─→ greeted ─→ judged ─→ talking
///                        ↑              └──────────┴────────┴─ broken, or silent ─→ pausing ─┐
///                        └──────────── at most a second later ────────────────────────────────┘
class TcpAgent {
 public:
  // The actions.
  /// Connect; connected() or broken() follows.
  struct Connect {};
  struct Send {
    std::string frame;
  };
  struct Disconnect {};
  /// The agent has left, as leave() asked.
  struct Gone {};
  using Action = std::variant<Connect, Send, Disconnect, Gone, Seated, Parked, Confirmed, WordCame,
                              StandingCame, SeatVacated, Unseated, Unreachable, Refused>;
  using Actions = std::vector<Action>;

  explicit TcpAgent(BoardConfig config) : config_(std::move(config)) {}

  [[nodiscard]] Actions claim(const Claim& claim, TimePoint now);
  [[nodiscard]] Actions publish(std::string text);
  [[nodiscard]] Actions say(Word word);
  [[nodiscard]] Actions leave(TimePoint now);

  [[nodiscard]] Actions connected(TimePoint now);
  /// An error that is not peer_lost ends the agent.
  [[nodiscard]] Actions not_connected(const Error& error, TimePoint now);
  [[nodiscard]] Actions broken(const std::string& why, TimePoint now);
  [[nodiscard]] Actions came(std::string_view body, TimePoint now);
  [[nodiscard]] Actions time_passed(TimePoint now);

  /// When time_passed() is to come.
  [[nodiscard]] std::optional<TimePoint> deadline() const;

  /// The longest body that may come now.
  [[nodiscard]] std::size_t longest_body() const {
    return phase_ == Phase::talking ? kLongestBody : kLongestOfStranger;
  }

 private:
  enum class Phase { idle, connecting, greeted, judged, talking, pausing, over };

  [[nodiscard]] Duration patience() const;
  [[nodiscard]] Actions connect(TimePoint now);
  [[nodiscard]] Actions fail(const HandshakeError& error, TimePoint now);
  [[nodiscard]] Actions begin_to_talk(Session session, TimePoint now);
  // The meaning of each message of the board.
  [[nodiscard]] Actions hear(const Seated& message, TimePoint now);
  [[nodiscard]] Actions hear(const Parked& message, TimePoint now);
  [[nodiscard]] Actions hear(const wire::Confirms& message, TimePoint now);
  [[nodiscard]] Actions hear(const WordCame& message, TimePoint now);
  [[nodiscard]] Actions hear(const Unseated& message, TimePoint now);
  [[nodiscard]] Actions hear(const Refused& message, TimePoint now);
  [[nodiscard]] Actions hear(const wire::LetsGo& message, TimePoint now);
  [[nodiscard]] Actions hear(const auto& event, TimePoint /*now*/) { return {event}; }
  [[nodiscard]] Actions end(const std::optional<Refused>& refused = {});
  [[nodiscard]] Send sealed(const wire::FromAgent& message);
  [[nodiscard]] Send renewal(TimePoint now);
  void forget_claim();

  BoardConfig config_;
  Phase phase_ = Phase::idle;
  TimePoint until_{};  ///< when this phase has lasted too long
  int failures_ = 0;   ///< failures in a row
  std::optional<AgentHandshake> handshake_;
  std::optional<Session> session_;

  std::optional<Claim> claim_;
  bool seated_ = false;      ///< the board gave the seat over this connection
  bool holds_ = false;       ///< the agent was told that it has a seat, and not that it has none
  bool says_again_ = false;  ///< the word may not have been heard over the connection before
  std::optional<std::string> text_;  ///< the text that was published last
  /// The word that was said last, as long as the board has not told it to us.
  std::optional<Word> word_;
  std::optional<TimePoint> leaves_by_;

  std::uint64_t last_number_ = 0;                          ///< the number of the last renewal
  std::deque<std::pair<std::uint64_t, TimePoint>> asked_;  ///< renewals without an answer
  TimePoint renew_at_{};
};

}  // namespace safelaunch::agree
