#include <algorithm>
#include <functional>
#include <vector>

#include "codec.h"
#include "etcd_member.h"
#include "mac.h"
#include "safelaunch/base/format.h"
#include "safelaunch/base/strings.h"

// An agent's reading of etcd's answers. An answer changes the phase or what is known of the board,
// the leader and the members, and leaves events for the board's listener. One that was lost, or
// lacks what was asked for, changes nothing but the time of the next question.
namespace safelaunch::agree {
namespace {

using namespace std::chrono_literals;

constexpr Duration kEtcdShortestPause = 100ms;
constexpr Duration kEtcdLongestPause = 1s;
/// The lease of a holder that is gone has run down by so much, beyond one renewal.
constexpr Duration kDoubtFor = 4s;
constexpr std::int64_t kDoubtfulSeconds = 2;

}  // namespace

void EtcdMember::answered(const Result<std::string>& body, TimePoint now) {
  const Result<void> taken = body ? take_answer(*body, now) : Result<void>(body.error());
  if (!taken) return fail(taken.error().message, now);
  asked_ = Asked::nothing;
  failures_ = 0;
}

/// Nobody knows whether etcd has done what it was asked for. Each request can be made again, except
/// a claim: a look must first show whether the claim was taken.
void EtcdMember::fail(const std::string& why, TimePoint now) {
  const Asked asked = std::exchange(asked_, Asked::nothing);
  const bool no_lease = why.find("lease not found") != std::string::npos;
  if (phase_ == Phase::claiming) phase_ = Phase::looking;
  if (asked == Asked::claim && no_lease) lease_ = 0;
  if (asked == Asked::say && no_lease) board_lease_ = 0;
  if (asked == Asked::publish && no_lease) return unseat("etcd has ended this agent's lease");
  if (asked == Asked::keep) sent_ = {};
  if (asked == Asked::revoke || asked == Asked::clean) return;  // the lease ends by itself
  ++failures_;
  wake_ =
      now + std::min(kEtcdLongestPause, kEtcdShortestPause * (1 << std::min(failures_ - 1, 10)));
  const auto servers = static_cast<int>(config_.address.hosts.size());
  if (failures_ >= std::max(servers, 2)) heard_.events.push_back(Unreachable{why});
}

Result<void> EtcdMember::take_answer(const std::string& body, TimePoint now) {
  switch (asked_) {
    case Asked::nothing:
    case Asked::revoke: return {};
    case Asked::lives:
    case Asked::grant:
    case Asked::keep:
    case Asked::keep_board: return take_lease_answer(body, now);
    default: break;
  }
  const Result<etcd::TxnAnswer> answer = etcd::txn_answer(body);
  if (!answer) return answer.error();
  if (answer->ranges.size() < ranges_due(answer->succeeded))
    return Error{Errc::peer_lost, "etcd answered only a part of the question"};
  switch (asked_) {
    case Asked::look: take_look(*answer, now); break;
    case Asked::claim: take_claim(*answer, now); break;
    case Asked::watch: take_watch(*answer, now); break;
    case Asked::say: take_saying(*answer); break;
    case Asked::publish:
      if (!answer->succeeded)
        unseat(fmt::format("another agent has taken the place of node {}", seat_));
      published_ = publishing_;
      break;
    default: break;
  }
  return {};
}

Result<void> EtcdMember::take_lease_answer(const std::string& body, TimePoint now) {
  const Result<etcd::Lease> lease = etcd::lease_answer(body);
  if (!lease) return lease.error();
  switch (asked_) {
    case Asked::grant:
      (phase_ == Phase::granting_board ? board_lease_ : lease_) = lease->id;
      phase_ = phase_ == Phase::granting_board && lease_ == 0 ? Phase::granting : Phase::claiming;
      wake_ = now;
      break;
    case Asked::keep:
      if (lease->seconds_left > 0)
        kept_ = sent_;
      else
        unseat("etcd heard nothing from this agent for too long and ended its lease");
      break;
    case Asked::keep_board:
      if (lease->seconds_left <= 0) board_lease_ = 0;
      break;
    case Asked::lives: {
      doubtful_lease_ = 0;
      wake_ = now + pace();
      const auto renewal = std::chrono::ceil<std::chrono::seconds>(record_.terms.renew_every);
      const auto full = static_cast<std::int64_t>(lease_seconds(record_.terms));
      if (lease->seconds_left < full - renewal.count() - kDoubtfulSeconds) break;  // it runs down
      refuse(Errc::usage, fmt::format("the board of this job at {} is in use, but {}; start all "
                                      "agents of a job with the same options",
                                      where_, *difference(record_, claim_, config_.terms)));
      break;
    }
    default: break;
  }
  return {};
}

/// A look has no condition, so it is always answered whole.
std::size_t EtcdMember::ranges_due(bool succeeded) const {
  if (asked_ == Asked::look) return 3;
  if (asked_ != Asked::watch || !succeeded) return 0;
  return seat_ == 0 ? 4 : 2;
}

void EtcdMember::take_look(const etcd::TxnAnswer& answer, TimePoint now) {
  const etcd::Range& seats = answer.ranges[2];
  if (!know_board(answer.ranges[0], seats.count > 0)) return;
  const Holders holders = holders_in(seats);
  begins_ = holders.empty();
  choose(holders, now);
  if (phase_ != Phase::looking || parked_.empty()) return;
  const auto leader = holders.find(0);
  const std::uint64_t present = leader == holders.end() ? 0 : leader->second.created;
  hear_word(answer.ranges[1], present);
  hear_of_leader(present);
  seen_ = answer.revision + 1;
}

/// Reads the board's record. False where this agent is refused.
bool EtcdMember::know_board(const etcd::Range& board, bool held) {
  board_changed_ = board.keys.empty() ? 0 : board.keys[0].changed;
  if (!held || board.keys.empty()) return true;
  const auto bytes = unsealed(config_.token, prefix_ + "board", board.keys[0].value);
  const auto record = bytes ? board_record(*bytes) : std::nullopt;
  if (!record) {
    refuse(Errc::peer_lost,
           fmt::format("the agents of this job at {} use another token than {}; copy one token "
                       "file to all nodes, or name one with --token-file",
                       where_, config_.token_from.empty() ? "ours" : config_.token_from));
    return false;
  }
  record_ = *record;
  key_ = std::string(bytes_of(hmac(config_.token, {"safelaunch etcd ", record_.id})));
  board_lease_ = board.keys[0].lease;
  return true;
}

/// Decides what to do with the seats as they are.
void EtcdMember::choose(const Holders& holders, TimePoint now) {
  if (holders.empty()) return claim_seat(claim_.seat.value_or(0), now);
  if (board_changed_ == 0)
    return park(fmt::format("the board of this job at {} has lost its record", where_), now);
  if (difference(record_, claim_, config_.terms)) return wait_out_other_terms(holders, now);
  for (const auto& [seat, holder] : holders) {
    if (holder.incarnation != claim_.incarnation || holder.lease == 0) continue;
    seat_ = seat;
    lease_ = holder.lease;
    return begin_to_sit(holder.created);
  }
  std::vector<int> free;
  for (int seat = 0; seat < claim_.seats; ++seat)
    if (!holders.contains(seat) && claim_.seat.value_or(seat) == seat) free.push_back(seat);
  // Many may look at the same time: not all of them choose the same one.
  if (!free.empty())
    return claim_seat(free[std::hash<std::string>()(claim_.incarnation) % free.size()], now);
  const auto& [seat, holder] =
      *(claim_.seat ? holders.find(*claim_.seat) : std::prev(holders.end()));
  park(claim_.seat ? fmt::format("the place of node {} is held by {}", seat, holder.host)
                   : fmt::format("all {} places are held, that of node {} by {}", claim_.seats,
                                 seat, holder.host),
       now);
}

void EtcdMember::claim_seat(int seat, TimePoint now) {
  seat_ = seat;
  // A lease of an earlier try serves as long as it is fresh.
  if (now - granted_ > config_.terms.lease / 2) lease_ = 0;
  phase_ = begins_ ? Phase::granting_board : lease_ == 0 ? Phase::granting : Phase::claiming;
  wake_ = now;
}

void EtcdMember::wait_out_other_terms(const Holders& holders, TimePoint now) {
  if (!differs_since_) differs_since_ = now;
  if (now - *differs_since_ >= record_.terms.renew_every + kDoubtFor)
    doubtful_lease_ = holders.begin()->second.lease;
  park(fmt::format("the board of this job at {} is an earlier one ({}); this agent replaces it "
                   "once its leases are over",
                   where_, *difference(record_, claim_, config_.terms)),
       now);
}

void EtcdMember::park(const std::string& why, TimePoint now) {
  wake_ = now + pace();
  if (why != parked_) heard_.events.push_back(Parked{why});
  parked_ = why;
}

void EtcdMember::take_claim(const etcd::TxnAnswer& answer, TimePoint now) {
  if (answer.succeeded) return begin_to_sit(answer.revision);
  phase_ = Phase::looking;  // somebody was quicker
  wake_ = now;
}

void EtcdMember::begin_to_sit(std::uint64_t created) {
  phase_ = Phase::sitting;
  created_ = created;
  seen_ = 0;
  told_ = {};
  leader_ = 0;
  word_changed_ = 0;
  published_ = 0;
  parked_.clear();
  members_.clear();
  shows_all_ = true;
  kept_.reset();
  sent_ = {};  // so the first keep-alive comes at once
}

void EtcdMember::take_watch(const etcd::TxnAnswer& answer, TimePoint now) {
  if (!answer.succeeded)
    return unseat(fmt::format("another agent has taken the place of node {}", seat_));
  watched_ = now;
  const etcd::Range& leader = answer.ranges[1];
  const std::uint64_t present = leader.keys.empty() ? 0 : leader.keys[0].created;
  const bool is_new = phase_ == Phase::sitting;
  phase_ = Phase::seated;
  if (is_new) heard_.events.push_back(Seated{{seat_, present}});
  hear_word(answer.ranges[0], present);
  if (is_new && present == 0) heard_.events.push_back(SeatVacated{0});
  hear_of_leader(present);
  if (seat_ == 0) hear_members(answer.ranges[2], answer.ranges[3]);
  seen_ = answer.revision + 1;
  if (kept_) heard_.events.push_back(Confirmed{*kept_});
  kept_.reset();
}

/// A word counts if the present leader has said it, or the one that was present a moment ago. A new
/// leader goes on from the last one, whoever said it.
void EtcdMember::hear_word(const etcd::Range& range, std::uint64_t present) {
  if (!range.keys.empty()) word_changed_ = range.keys[0].changed;
  const auto word = word_in(range);
  if (!word ||
      std::pair(word->generation, word->number) <= std::pair(told_.generation, told_.number))
    return;
  const bool counts =
      word->generation == present || (leader_ != 0 && word->generation == leader_) || leads();
  if (!counts) return;
  told_ = *word;
  heard_.events.push_back(WordCame{*word});
}

void EtcdMember::hear_of_leader(std::uint64_t present) {
  if (leader_ != 0 && leader_ != present && !leads()) heard_.events.push_back(SeatVacated{0});
  leader_ = present;
}

/// Tells the leader which members have come or gone, and their news.
void EtcdMember::hear_members(const etcd::Range& seats, const etcd::Range& news) {
  const Holders changed = holders_in(seats);
  for (auto member = members_.begin(); member != members_.end();) {
    const auto now = changed.find(member->first);
    const bool is_gone =
        now == changed.end() ? shows_all_ : now->second.created != member->second.created;
    if (is_gone) heard_.events.push_back(SeatVacated{member->first});
    member = is_gone ? members_.erase(member) : std::next(member);
  }
  for (const auto& [seat, holder] : changed)
    if (seat != seat_) members_.emplace(seat, holder);
  for (const etcd::Key& key : news.keys) {
    const auto seat = seat_of(key, kNews);
    const auto member = seat ? members_.find(*seat) : members_.end();
    const auto record = record_in(key);
    if (member == members_.end() || !record || key.changed <= member->second.told ||
        record->incarnation != member->second.incarnation)
      continue;
    member->second.told = key.changed;
    show_member(*seat, record->text);
  }
  for (auto& [seat, member] : members_) {
    if (member.told != 0) continue;
    member.told = member.created;
    show_member(seat, {});
  }
  // A member whose key is gone is not among the changes: then the next watch asks for all.
  shows_all_ = !shows_all_ && seats.count != members_.size() + 1;
}

void EtcdMember::show_member(int seat, std::string text) {
  const Holder& member = members_.at(seat);
  heard_.events.push_back(StandingCame{{seat, member.incarnation, member.host, std::move(text)}});
}

void EtcdMember::take_saying(const etcd::TxnAnswer& answer) {
  const Word word = std::move(*std::exchange(saying_, {}));
  bool taken = answer.succeeded;
  std::uint64_t changed = answer.revision;
  if (!taken && !answer.ranges.empty()) {
    // The answer to an earlier try may have been lost.
    taken = word_in(answer.ranges[0]) == word;
    if (taken) changed = answer.ranges[0].keys[0].changed;
  }
  if (!taken) return not_taken(word);
  word_changed_ = changed;
  told_ = word;
  heard_.taken = word;
  heard_.events.push_back(WordCame{word});
}

void EtcdMember::not_taken(const Word& word) {
  unseat(not_taken_in_words(word, seat_, told_.number, told_.generation));
  gives_back_ = lease_ != 0;
}

// ---- what stands under the keys

std::optional<int> EtcdMember::seat_of(const etcd::Key& key, std::string_view kind) const {
  std::string_view name = key.name;
  if (!name.starts_with(prefix_)) return std::nullopt;
  name.remove_prefix(prefix_.size());
  if (!name.starts_with(kind)) return std::nullopt;
  return to_number(name.substr(kind.size()));
}

std::optional<NewsRecord> EtcdMember::record_in(const etcd::Key& key) const {
  const auto bytes = unsealed(key_, key.name, key.value);
  return bytes ? news_record(*bytes) : std::nullopt;
}

/// A seat is held even if its value is not sealed as it should be: an agent without our token then
/// holds it.
EtcdMember::Holders EtcdMember::holders_in(const etcd::Range& seats) const {
  Holders holders;
  for (const etcd::Key& key : seats.keys) {
    const auto seat = seat_of(key, kSeat);
    if (!seat) continue;
    const auto record = record_in(key);
    holders[*seat] = {key.created, key.lease, record ? record->incarnation : std::string(),
                      record ? record->host : std::string("somebody without our token")};
  }
  return holders;
}

std::optional<Word> EtcdMember::word_in(const etcd::Range& range) const {
  if (range.keys.empty()) return std::nullopt;
  const auto bytes = unsealed(key_, range.keys[0].name, range.keys[0].value);
  if (!bytes) return std::nullopt;
  Reader reader(*bytes);
  Word word;
  word.generation = reader.number<std::uint64_t>();
  word.number = reader.number<std::uint64_t>();
  word.text = reader.text();
  return reader.whole() ? std::optional(word) : std::nullopt;
}

void EtcdMember::unseat(const std::string& why) {
  phase_ = Phase::idle;
  heard_.events.push_back(Unseated{why});
}

void EtcdMember::refuse(Errc code, const std::string& why) {
  phase_ = Phase::idle;
  heard_.events.push_back(Refused{{code, why}});
}

}  // namespace safelaunch::agree
