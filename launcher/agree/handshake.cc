#include "handshake.h"

#include <cstdint>
#include <stdexcept>

#include "codec.h"

// Both proofs and both keys are made of one text that holds the two nonces and the job with
// their lengths, and of a word for the role. The board's proof covers its verdict too, so an
// agent believes a refusal only from a board that has its token.
namespace safelaunch::agree {
namespace {

constexpr std::string_view kMagic = "safelaunch board";
constexpr std::uint8_t kVersion = 1;

/// The words that both sides have seen; lengths stand in them, so no two handshakes read alike.
std::string seen_by_both(std::string_view board_nonce, std::string_view agent_nonce,
                         std::string_view job) {
  return Writer().raw(kMagic).number(kVersion).text(board_nonce).text(agent_nonce).text(job).take();
}

Digest proof_of_agent(std::string_view token, std::string_view both) {
  return hmac(token, {"agent: proof", both});
}

Digest proof_of_board(std::string_view token, std::string_view both, std::string_view verdict) {
  return hmac(token, {"board: proof", both, verdict});
}

Seal frames_of_agent(std::string_view token, std::string_view both) {
  return Seal(hmac(token, {"agent: frames", both}));
}

Seal frames_of_board(std::string_view token, std::string_view both) {
  return Seal(hmac(token, {"board: frames", both}));
}

/// Empty: welcome.
std::string verdict_of(std::string_view why) {
  return Writer().text(why).take();
}

constexpr std::string_view kOtherToken = "its token is another one";

}  // namespace

std::string BoardHandshake::greeting() const {
  return Writer().raw(kMagic).number(kVersion).raw(bytes_of(nonce_)).take();
}

BoardHandshake::Answer BoardHandshake::judge(std::string_view introduction, std::string_view token,
                                             std::string_view job) const {
  Reader reader(introduction);
  const std::string nonce(reader.raw(sizeof(Digest)));
  const std::string wanted_job = reader.text();
  const std::string proof(reader.raw(sizeof(Digest)));
  if (!reader.whole()) return {};
  const std::string both = seen_by_both(bytes_of(nonce_), nonce, wanted_job);
  std::string why, turned_away;
  if (!same_secret(proof, bytes_of(proof_of_agent(token, both)))) {
    why = turned_away = kOtherToken;
  } else if (wanted_job != job) {
    why = "it keeps the board of job " + std::string(job) + ", and this is job " + wanted_job;
    turned_away = "it is of job " + wanted_job + ", and this is job " + std::string(job);
  }
  std::string verdict = verdict_of(why);
  verdict += bytes_of(proof_of_board(token, both, verdict));
  if (!why.empty()) return {verdict, std::nullopt, turned_away};
  return {verdict, Session{frames_of_board(token, both), frames_of_agent(token, both)}, {}};
}

boost::system::result<std::string, HandshakeError> AgentHandshake::introduce(
    std::string_view greeting) {
  Reader reader(greeting);
  if (reader.raw(kMagic.size()) != kMagic)
    return HandshakeError{HandshakeError::Kind::no_board, "another program listens there"};
  if (reader.number<std::uint8_t>() != kVersion)
    return HandshakeError{HandshakeError::Kind::no_board,
                          "a safelaunch of another version listens there, or what looks like one"};
  const std::string_view nonce = reader.raw(sizeof(Digest));
  if (!reader.whole())
    return HandshakeError{HandshakeError::Kind::no_board, "another program listens there"};
  both_ = seen_by_both(nonce, bytes_of(nonce_), job_);
  return Writer()
      .raw(bytes_of(nonce_))
      .text(job_)
      .raw(bytes_of(proof_of_agent(token_, both_)))
      .take();
}

boost::system::result<Session, HandshakeError> AgentHandshake::conclude(
    std::string_view verdict) const {
  Reader reader(verdict);
  const std::string why = reader.text();
  const std::string_view proof = reader.raw(sizeof(Digest));
  if (!reader.whole())
    return HandshakeError{HandshakeError::Kind::no_board, "another program listens there"};
  if (!same_secret(proof, bytes_of(proof_of_board(token_, both_, verdict_of(why)))))
    return HandshakeError{HandshakeError::Kind::other_token, std::string(kOtherToken)};
  if (!why.empty()) return HandshakeError{HandshakeError::Kind::refused, why};
  return Session{frames_of_agent(token_, both_), frames_of_board(token_, both_)};
}

void throw_exception_from_error(const HandshakeError& error, const boost::source_location&) {
  throw std::runtime_error(error.why);
}

}  // namespace safelaunch::agree
