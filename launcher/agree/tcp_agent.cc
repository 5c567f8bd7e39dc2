#include "tcp_agent.h"

#include <algorithm>

#include "safelaunch/base/format.h"

// Every connection begins from nothing: handshake, claim, renewal. The newest text is published
// again once the board has given the seat, and the last word is said again only where the answer
// to the first renewal has shown that the board lacks it. Another token, a refusal or a message
// of another version ends the agent; all else is a broken connection, and tried again.
namespace safelaunch::agree {
namespace {

constexpr Duration kLongestPause{1'000};
constexpr Duration kShortestPause{100};
constexpr Duration kLeavesWithin{1'000};
// A board that has not answered for so long is behind a cut line, or does not run any more.
constexpr Duration kLongestPatience{5'000};

}  // namespace

Duration TcpAgent::patience() const {
  const Duration patience = std::min(kLongestPatience, config_.terms.lease / 2);
  return std::max(patience, 2 * config_.terms.renew_every);  // one renewal may be late
}

TcpAgent::Actions TcpAgent::claim(const Claim& claim, TimePoint now) {
  claim_ = claim;
  seated_ = false;
  holds_ = false;
  if (phase_ == Phase::talking)
    return {sealed(wire::ClaimsSeat{*claim_, config_.terms}), renewal(now)};
  return phase_ == Phase::idle ? connect(now) : Actions{};
}

TcpAgent::Actions TcpAgent::publish(std::string text) {
  text_ = std::move(text);
  if (!seated_) return {};
  return {sealed(wire::Publishes{*text_})};
}

TcpAgent::Actions TcpAgent::say(Word word) {
  word_ = std::move(word);
  if (!seated_) return {};
  return {sealed(wire::Says{*word_})};
}

TcpAgent::Actions TcpAgent::leave(TimePoint now) {
  if (!claim_ || phase_ == Phase::over) return {Gone{}};
  leaves_by_ = now + kLeavesWithin;
  if (phase_ != Phase::talking) return {};
  return {sealed(wire::Leaves{})};
}

TcpAgent::Actions TcpAgent::connect(TimePoint now) {
  phase_ = Phase::connecting;
  until_ = now + patience();
  return {Connect{}};
}

TcpAgent::Actions TcpAgent::connected(TimePoint now) {
  phase_ = Phase::greeted;
  until_ = now + patience();
  handshake_.emplace(config_.token, claim_->job);
  return {};
}

TcpAgent::Actions TcpAgent::broken(const std::string& why, TimePoint now) {
  if (phase_ == Phase::idle || phase_ == Phase::over || phase_ == Phase::pausing) return {};
  phase_ = Phase::pausing;
  session_.reset();
  seated_ = false;
  asked_.clear();
  until_ = now + std::min(kLongestPause, kShortestPause * (1 << std::min(failures_++, 10)));
  return {Disconnect{},
          Unreachable{fmt::format("the board at {} {}", to_string(config_.address), why)}};
}

TcpAgent::Actions TcpAgent::not_connected(const Error& error, TimePoint now) {
  return error.code == Errc::peer_lost ? broken(error.message, now) : end(Refused{error});
}

TcpAgent::Actions TcpAgent::fail(const HandshakeError& error, TimePoint now) {
  const std::string board = to_string(config_.address);
  // Its notice was sealed with our token for our job, so another program has got its port since.
  if (config_.address.backend == Address::Backend::file)
    return broken("is not there any more: " + error.why, now);
  switch (error.kind) {
    case HandshakeError::Kind::no_board: return broken("does not answer: " + error.why, now);
    case HandshakeError::Kind::other_token:
      return end(Refused{Error{
          Errc::peer_lost,
          fmt::format("the board at {} does not have the token of {} on {}; copy node 0's token "
                      "file there, or name one file for all nodes with --token-file",
                      board, config_.token_from, claim_->host)}});
    case HandshakeError::Kind::refused: break;
  }
  return end(Refused{Error{Errc::peer_lost, fmt::format("{}: {}", board, error.why)}});
}

TcpAgent::Actions TcpAgent::end(const std::optional<Refused>& refused) {
  phase_ = Phase::over;
  forget_claim();
  session_.reset();
  Actions actions{Disconnect{}};
  if (refused) actions.emplace_back(*refused);
  if (leaves_by_) actions.emplace_back(Gone{});
  return actions;
}

TcpAgent::Actions TcpAgent::came(std::string_view body, TimePoint now) {
  if (phase_ == Phase::greeted) {
    auto introduction = handshake_->introduce(body);
    if (!introduction) return fail(introduction.error(), now);
    phase_ = Phase::judged;
    return {Send{framed(*introduction)}};
  }
  if (phase_ == Phase::judged) {
    auto session = handshake_->conclude(body);
    if (!session) return fail(session.error(), now);
    return begin_to_talk(std::move(*session), now);
  }
  if (phase_ != Phase::talking) return {};
  const auto opened = session_->incoming.open(body);
  if (!opened) return broken("sent a frame that somebody altered", now);
  const auto message = wire::board_message(*opened);
  if (!message) return end(Refused{message.error()});
  until_ = now + patience();
  return std::visit([&](const auto& one) { return hear(one, now); }, *message);
}

TcpAgent::Actions TcpAgent::begin_to_talk(Session session, TimePoint now) {
  phase_ = Phase::talking;
  session_ = std::move(session);
  until_ = now + patience();
  failures_ = 0;
  says_again_ = true;
  Actions actions{sealed(wire::ClaimsSeat{*claim_, config_.terms}), renewal(now)};
  if (leaves_by_) actions.emplace_back(sealed(wire::Leaves{}));
  return actions;
}

TcpAgent::Send TcpAgent::sealed(const wire::FromAgent& message) {
  return {session_->outgoing.close(wire::bytes_of(message))};
}

TcpAgent::Send TcpAgent::renewal(TimePoint now) {
  asked_.emplace_back(++last_number_, now);
  renew_at_ = now + config_.terms.renew_every;
  return sealed(wire::Renews{last_number_});
}

TcpAgent::Actions TcpAgent::hear(const Seated& message, TimePoint /*now*/) {
  seated_ = true;
  holds_ = true;
  Actions actions{message};
  if (text_) actions.emplace_back(sealed(wire::Publishes{*text_}));
  return actions;
}

// A holder that is parked has lost its seat while it was away, and the board's word of that got
// lost.
TcpAgent::Actions TcpAgent::hear(const Parked& message, TimePoint now) {
  if (holds_) return hear(Unseated{message.why}, now);
  return {message};
}

// The answer to the first renewal comes behind the seat and the newest word. So if the leader's own
// word has not come by then, the board does not have it.
TcpAgent::Actions TcpAgent::hear(const wire::Confirms& message, TimePoint now) {
  Actions actions;
  while (!asked_.empty() && asked_.front().first <= message.number) {
    // One that allows nothing any more is not told: we, or its bytes, were stopped meanwhile.
    const bool counts = now < asked_.front().second + config_.terms.lease;
    if (message.holds && counts && asked_.front().first == message.number)
      actions.emplace_back(Confirmed{asked_.front().second});
    asked_.pop_front();
  }
  if (seated_ && std::exchange(says_again_, false) && word_)
    actions.emplace_back(sealed(wire::Says{*word_}));
  return actions;
}

TcpAgent::Actions TcpAgent::hear(const WordCame& message, TimePoint /*now*/) {
  if (word_ && word_->number <= message.word.number) word_.reset();
  return {message};
}

void TcpAgent::forget_claim() {
  seated_ = false;
  holds_ = false;
  text_.reset();
  word_.reset();
  asked_.clear();
}

TcpAgent::Actions TcpAgent::hear(const Unseated& message, TimePoint /*now*/) {
  forget_claim();
  claim_.reset();
  session_.reset();
  phase_ = Phase::idle;
  Actions actions{Disconnect{}, message};
  if (leaves_by_) actions.emplace_back(Gone{});
  return actions;
}

TcpAgent::Actions TcpAgent::hear(const Refused& message, TimePoint /*now*/) {
  return end(message);
}

TcpAgent::Actions TcpAgent::hear(const wire::LetsGo& /*message*/, TimePoint /*now*/) {
  return leaves_by_ ? end() : Actions{};
}

std::optional<TimePoint> TcpAgent::deadline() const {
  if (phase_ == Phase::idle || phase_ == Phase::over) return std::nullopt;
  TimePoint next = until_;
  if (phase_ == Phase::talking) next = std::min(next, renew_at_);
  return leaves_by_ ? std::min(next, *leaves_by_) : next;
}

TcpAgent::Actions TcpAgent::time_passed(TimePoint now) {
  if (phase_ == Phase::idle || phase_ == Phase::over) return {};
  if (leaves_by_ && now >= *leaves_by_) return end();
  if (phase_ == Phase::pausing) return now >= until_ ? connect(now) : Actions{};
  if (now >= until_)
    return broken(fmt::format("has not answered for {}", describe_duration(patience())), now);
  if (phase_ == Phase::talking && now >= renew_at_) return {renewal(now)};
  return {};
}

}  // namespace safelaunch::agree
