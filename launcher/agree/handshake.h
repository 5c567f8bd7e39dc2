#pragma once

#include "frames.h"
#include "mac.h"
#include "safelaunch/base/result.h"

/// How an agent and the board prove to each other that they hold the same token, in three frames:
///
///     board → agent   greeting      magic, version, the board's nonce
///     agent → board   introduction  the agent's nonce, the job, proof of the agent
///     board → agent   verdict       welcome or not, why not, proof of the board
///
/// Each proof is an HMAC under the token over both nonces, the job and the role of the prover, so
/// neither can be sent back to its maker, nor be used again. The keys of the frames that follow are
/// made of the same values. All of it as values: FrameStream reads and writes the bytes.
namespace safelaunch::agree {

/// The keys that both sides have once each believes the other.
struct Session {
  Seal outgoing;
  Seal incoming;
};

/// The board's side.
class BoardHandshake {
 public:
  BoardHandshake() : nonce_(random_digest()) {}

  /// The first frame's body.
  [[nodiscard]] std::string greeting() const;

  struct Answer {
    std::string verdict;  ///< the body to send; empty: the agent's frame was no introduction
    std::optional<Session> session;  ///< none: the connection is to be closed
    std::string turned_away{};       ///< why, in the board's own words; empty: it is let in
  };
  /// Judges the introduction of an agent. An agent of another job, or with a wrong token, is told
  /// so; the proof in the verdict lets an agent with the right token believe it.
  [[nodiscard]] Answer judge(std::string_view introduction, std::string_view token,
                             std::string_view job) const;

 private:
  Digest nonce_;
};

/// How a handshake fails for an agent.
struct HandshakeError {
  enum class Kind {
    no_board,     ///< something else listens there; a board may follow
    other_token,  ///< the board does not hold our token
    refused,      ///< a board with our token refuses us: it is of no use to try again
  };
  Kind kind = Kind::no_board;
  std::string why;
};

/// The agent's side.
class AgentHandshake {
 public:
  AgentHandshake(std::string token, std::string job)
      : token_(std::move(token)), job_(std::move(job)), nonce_(random_digest()) {}

  /// The body of the introduction that answers a greeting.
  [[nodiscard]] boost::system::result<std::string, HandshakeError> introduce(
      std::string_view greeting);
  [[nodiscard]] boost::system::result<Session, HandshakeError> conclude(
      std::string_view verdict) const;

 private:
  std::string token_;
  std::string job_;
  Digest nonce_;
  std::string both_;  ///< the text of which the proofs and keys are made
};

[[noreturn]] void throw_exception_from_error(const HandshakeError& error,
                                             const boost::source_location& where);

}  // namespace safelaunch::agree
