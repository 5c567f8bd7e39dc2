#include "etcd_member.h"

#include <algorithm>

#include "codec.h"
#include "mac.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// One question is asked at a time, and the first that is due: to leave, to give a refused lease
// back, then the way to a seat, one phase a question; as a holder, to renew before all else, and to
// look only where nothing else is wanted. etcd_answers.cc reads the answers.
namespace safelaunch::agree {
namespace {

using namespace std::chrono_literals;

constexpr Duration kSlowestWatch = 300ms;
constexpr Duration kQuickestWatch = 10ms;
/// With many nodes each watches more rarely, so that etcd answers a thousand a second at most.
constexpr Duration kWatchForNode = 1ms;
constexpr Duration kEtcdShortestPatience = 500ms;
constexpr Duration kEtcdLongestPatience = 2s;
/// The keys of a killed run are gone from etcd after this time.
constexpr std::uint64_t kBoardSeconds = 3600;
constexpr Duration kKeepBoardEvery = 60s;

}  // namespace

EtcdMember::EtcdMember(const BoardConfig& config)
    : config_(config), where_(to_string(config.address)) {}

Duration EtcdMember::patience() const {
  return std::clamp(config_.terms.lease / 4, kEtcdShortestPatience, kEtcdLongestPatience);
}

Duration EtcdMember::pace() const {
  const Duration pace = std::clamp(config_.terms.renew_every / 4, kQuickestWatch, kSlowestWatch);
  return std::max(pace, kWatchForNode * claim_.seats);
}

// ---- what is asked

void EtcdMember::serve(const Wishes& wishes, TimePoint now) {
  claims_ = wishes.claims;
  claim_ = *wishes.claim;
  prefix_ = "/safelaunch/" + plain_job_name(claim_.job) + "/";
  phase_ = Phase::looking;
  wake_ = now;
  parked_.clear();
  differs_since_.reset();
  seen_ = 0;
  told_ = {};
  leader_ = 0;
  if (claim_.seats < 1 || claim_.seat.value_or(0) < 0 || claim_.seat.value_or(0) >= claim_.seats)
    refuse(Errc::usage, fmt::format("there is no node {} among {} nodes", claim_.seat.value_or(0),
                                    claim_.seats));
}

std::optional<EtcdMember::Request> EtcdMember::next(const Wishes& wishes, TimePoint now) {
  if (asked_ != Asked::nothing || phase_ == Phase::left) return std::nullopt;
  if (wishes.leaves) return next_to_leave();
  if (wishes.claims != claims_) serve(wishes, now);
  if (failures_ > 0 && now < wake_) return std::nullopt;
  if (std::exchange(gives_back_, false))
    return ask(Asked::revoke, etcd::kRevokePath, etcd::lease_text(std::exchange(lease_, 0)));
  if (phase_ == Phase::seated) return next_as_holder(wishes, now);
  if (now < wake_) return std::nullopt;
  switch (phase_) {
    case Phase::looking:
      if (doubtful_lease_ == 0) return look_request();
      return ask(Asked::lives, etcd::kTimeToLivePath, etcd::lease_text(doubtful_lease_));
    case Phase::granting_board:
      return ask(Asked::grant, etcd::kGrantPath, etcd::grant_text(kBoardSeconds));
    case Phase::granting:
      granted_ = now;
      return ask(Asked::grant, etcd::kGrantPath, etcd::grant_text(lease_seconds(config_.terms)));
    case Phase::claiming: return claim_request();
    case Phase::sitting: return watch_request();
    case Phase::idle:
    case Phase::seated:
    case Phase::left: break;
  }
  wake_ = TimePoint::max();
  return std::nullopt;
}

std::optional<EtcdMember::Request> EtcdMember::next_as_holder(const Wishes& wishes, TimePoint now) {
  if (!kept_ && now - sent_ >= config_.terms.renew_every) {
    sent_ = now;
    return ask(Asked::keep, etcd::kKeepAlivePath, etcd::lease_text(lease_));
  }
  if (kept_) return watch_request();
  if (wishes.version != published_) return publish_request(wishes);
  if (!wishes.words.empty()) return say_request(wishes.words.front());
  if (leads() && board_lease_ != 0 && now - board_kept_ >= kKeepBoardEvery) {
    board_kept_ = now;
    return ask(Asked::keep_board, etcd::kKeepAlivePath, etcd::lease_text(board_lease_));
  }
  if (now - watched_ >= pace()) return watch_request();
  wake_ = std::min(sent_ + config_.terms.renew_every, watched_ + pace());
  return std::nullopt;
}

/// The lease goes first, and with it the seat. Then the board, where nobody is left.
std::optional<EtcdMember::Request> EtcdMember::next_to_leave() {
  if (lease_ != 0) {
    cleans_ = true;
    return ask(Asked::revoke, etcd::kRevokePath, etcd::lease_text(std::exchange(lease_, 0)));
  }
  if (std::exchange(cleans_, false))
    return ask(Asked::clean,
               etcd::Txn().if_none_under(prefix_ + std::string(kSeat)).remove_under(prefix_));
  phase_ = Phase::left;
  heard_.left = true;
  return std::nullopt;
}

EtcdMember::Request EtcdMember::ask(Asked what, std::string_view path, std::string body) {
  asked_ = what;
  return {path, std::move(body)};
}

EtcdMember::Request EtcdMember::ask(Asked what, const etcd::Txn& txn) {
  return ask(what, etcd::Txn::kPath, txn.text());
}

EtcdMember::Request EtcdMember::look_request() {
  return ask(Asked::look, etcd::Txn()
                              .get(prefix_ + "board")
                              .get(prefix_ + "word", seen_)
                              .get_under(prefix_ + std::string(kSeat)));
}

EtcdMember::Request EtcdMember::claim_request() {
  etcd::Txn txn;
  txn.if_changed(prefix_ + "board", board_changed_);
  if (begins_) {
    record_ = {random_id(), claim_.job, claim_.seats, config_.terms};
    key_ = std::string(bytes_of(hmac(config_.token, {"safelaunch etcd ", record_.id})));
    txn.if_none_under(prefix_ + std::string(kSeat))
        .remove(prefix_ + "word")
        .put(prefix_ + "board", sealed(config_.token, prefix_ + "board", to_bytes(record_)),
             board_lease_);
  } else {
    txn.if_created(seat_key(seat_), 0);
  }
  const NewsRecord holder{claim_.incarnation, 0, claim_.host, {}};
  txn.put(seat_key(seat_), sealed_for(seat_key(seat_), to_bytes(holder)), lease_);
  return ask(Asked::claim, txn);
}

EtcdMember::Request EtcdMember::watch_request() {
  etcd::Txn txn;
  txn.if_created(seat_key(seat_), created_).get(prefix_ + "word", seen_).get(seat_key(0));
  if (seat_ == 0) {
    const std::uint64_t since = shows_all_ ? 0 : seen_;
    txn.get_under(prefix_ + std::string(kSeat), since)
        .get_under(prefix_ + std::string(kNews), since);
  }
  return ask(Asked::watch, txn);
}

EtcdMember::Request EtcdMember::publish_request(const Wishes& wishes) {
  publishing_ = wishes.version;
  const NewsRecord news{claim_.incarnation, wishes.version, claim_.host, *wishes.text};
  etcd::Txn txn;
  txn.if_created(seat_key(seat_), created_)
      .put(news_key(seat_), sealed_for(news_key(seat_), to_bytes(news)), lease_);
  return ask(Asked::publish, txn);
}

std::optional<EtcdMember::Request> EtcdMember::say_request(const Word& word) {
  if (seat_ == 0 && word == told_) {  // said twice
    heard_.taken = word;
    return std::nullopt;
  }
  // On a board without words a leader goes on from those that it has heard on the one before.
  const bool next = told_.number == 0 || word.number == told_.number + 1;
  if (seat_ != 0 || word.generation != created_ || !next) {
    not_taken(word);
    return std::nullopt;
  }
  saying_ = word;
  const std::string bytes =
      Writer().number(word.generation).number(word.number).text(word.text).take();
  const std::string key = prefix_ + "word";
  return ask(Asked::say, etcd::Txn()
                             .if_created(seat_key(0), created_)
                             .if_changed(key, word_changed_)
                             .put(key, sealed_for(key, bytes), board_lease_)
                             .else_get(key));
}

// ---- its keys

std::uint64_t EtcdMember::lease_seconds(const Terms& terms) {
  const auto needed = std::chrono::ceil<std::chrono::seconds>(terms.lease + terms.kill_margin);
  return static_cast<std::uint64_t>(needed.count()) + 1;
}

std::string EtcdMember::seat_key(int seat) const {
  return fmt::format("{}{}{}", prefix_, kSeat, seat);
}

std::string EtcdMember::news_key(int seat) const {
  return fmt::format("{}{}{}", prefix_, kNews, seat);
}

std::string EtcdMember::sealed_for(std::string_view key, std::string_view bytes) const {
  return sealed(key_, key, bytes);
}

}  // namespace safelaunch::agree
