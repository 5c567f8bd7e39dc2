#include "board_core.h"

#include <utility>
#include <variant>

#include "records.h"
#include "safelaunch/base/format.h"

// Every message is first a sign of life, and every call first frees the seats of those that have
// been silent for too long; waiting agents then get them, in the order of their claims. A claim of
// an incarnation that sits or waits already is the same agent over a newer connection: the greater
// peer counts, and messages over an older one are dropped.
namespace safelaunch::agree {
namespace {

// An incarnation has 32 characters; more would only fill the memory.
constexpr std::size_t kLongestName = 256;

std::string holder_in_words(int seat, const std::string& host) {
  return fmt::format("node {} is held by the safelaunch on {}", seat, host);
}

}  // namespace

BoardCore::BoardCore(int seats, const Terms& terms, const EarlierLife& earlier)
    : seats_(seats), terms_(terms), opens_(earlier.until), generation_(earlier.generation) {
  for (int seat = 0; seat < seats_; ++seat) free_.insert(free_.end(), seat);
}

std::vector<BoardCore::Told> BoardCore::on(Peer from, const wire::FromAgent& message,
                                           TimePoint now) {
  end_silent(now);
  std::visit([&](const auto& one) { take(from, one, now); }, message);
  return std::exchange(told_, {});
}

std::vector<BoardCore::Told> BoardCore::time_passed(TimePoint now) {
  end_silent(now);
  if (is_open(now)) seat_waiting(now);
  return std::exchange(told_, {});
}

std::optional<TimePoint> BoardCore::deadline() const {
  if (!by_hearing_.empty())
    return holders_.at(by_hearing_.front()).heard + terms_.lease + terms_.kill_margin;
  return waiting_.empty() ? std::nullopt : std::optional(opens_);
}

void BoardCore::gone(Peer peer) {
  if (const auto seat = seat_of(peer)) holders_.at(*seat).peer = 0;
  seat_of_peer_.erase(peer);
  const auto waits = waiting_of_peer_.find(peer);
  if (waits != waiting_of_peer_.end()) stop_waiting(waits->second);
}

// The effect of each message.

void BoardCore::take(Peer from, const wire::ClaimsSeat& message, TimePoint now) {
  const Claim& claim = message.claim;
  if (const auto why = difference(message)) return tell(from, Refused{Error{Errc::usage, *why}});
  const auto known = seat_of_incarnation_.find(claim.incarnation);
  if (known == seat_of_incarnation_.end()) {
    const auto waits = waiting_of_incarnation_.find(claim.incarnation);
    if (waits != waiting_of_incarnation_.end()) {
      // Peers are numbered in order, since a spare's words on a former connection may come after
      // those on the new one.
      if (waits->second->peer > from) return;
      stop_waiting(waits->second);
    }
    gone(from);  // an agent that claims anew under another name
    return place(from, claim, now);
  }
  // The agent has come over another connection. Peers are numbered in order, so its words over a
  // former connection are dropped even where they come last.
  const int seat = known->second;
  Holder& holder = holders_.at(seat);
  if (holder.peer > from) return;
  seat_of_peer_.erase(holder.peer);
  holder.peer = from;
  seat_of_peer_[from] = seat;
  hear(seat, now);
  greet(seat);
  // A leader that was away may have missed that others have gone.
  if (seat == 0)
    for (const int gone : free_) tell(from, SeatVacated{gone});
}

void BoardCore::take(Peer from, const wire::Renews& message, TimePoint now) {
  const auto seat = seat_of(from);
  if (seat) hear(*seat, now);
  tell(from, wire::Confirms{message.number, seat.has_value()});
}

void BoardCore::take(Peer from, const wire::Publishes& message, TimePoint now) {
  const auto seat = seat_of(from);
  if (!seat) return;
  hear(*seat, now);
  Holder& holder = holders_.at(*seat);
  if (message.text.size() > kLongestText || holder.text == message.text) return;
  holder.text = message.text;
  show(*seat);
}

void BoardCore::take(Peer from, const wire::Says& message, TimePoint now) {
  const auto seat = seat_of(from);
  if (!seat) return;
  hear(*seat, now);
  const Word& word = message.word;
  if (*seat == 0 && word_ == word) return tell(from, WordCame{word});  // said twice
  const std::uint64_t last = word_ ? word_->number : 0;
  if (*seat != 0 || word.generation != generation_ || word.number != last + 1 ||
      word.text.size() > kLongestText) {
    unseat(*seat, not_taken_in_words(word, *seat, last, generation_));
    return seat_waiting(now);
  }
  word_ = word;
  tell_all(WordCame{word});
}

void BoardCore::take(Peer from, const wire::Leaves& /*message*/, TimePoint now) {
  const auto seat = seat_of(from);
  gone(from);
  tell(from, wire::LetsGo{});
  if (!seat) return;
  vacate(*seat);
  seat_waiting(now);
}

// Seats.

std::optional<std::string> BoardCore::difference(const wire::ClaimsSeat& message) const {
  const Claim& claim = message.claim;
  const auto differs = [&](const char* what, const std::string& theirs, const std::string& ours) {
    return fmt::format(
        "{} on {} is {}, but {} on the other nodes: start safelaunch with the same arguments on "
        "every node",
        what, claim.host, theirs, ours);
  };
  if (claim.incarnation.empty() || claim.incarnation.size() > kLongestName ||
      claim.host.size() > kLongestName)
    return std::string("the claim has no name, or one that is too long");
  if (claim.seats != seats_)
    return differs("the number of nodes", std::to_string(claim.seats), std::to_string(seats_));
  if (claim.seat && (*claim.seat < 0 || *claim.seat >= seats_))
    return fmt::format("{} wants to be node {} of {}: the numbers are 0 to {}", claim.host,
                       *claim.seat, seats_, seats_ - 1);
  if (message.terms.lease != terms_.lease)
    return differs("the lease", describe_duration(message.terms.lease),
                   describe_duration(terms_.lease));
  if (message.terms.renew_every != terms_.renew_every ||
      message.terms.kill_margin != terms_.kill_margin)
    return differs("the pace of the lease", "one value", "another");
  return std::nullopt;
}

std::optional<int> BoardCore::free_seat_for(const Claim& claim) const {
  if (claim.seat) return free_.contains(*claim.seat) ? claim.seat : std::nullopt;
  return free_.empty() ? std::nullopt : std::optional(*free_.begin());
}

void BoardCore::place(Peer peer, const Claim& claim, TimePoint now) {
  const auto seat = is_open(now) ? free_seat_for(claim) : std::nullopt;
  if (seat) return sit(*seat, peer, claim, now);
  const auto one = waiting_.insert(waiting_.end(), Waiting{peer, claim});
  waiting_of_peer_[peer] = one;
  waiting_of_incarnation_[claim.incarnation] = one;
  tell(peer, Parked{why_parked(claim, now)});
  if (word_counts()) tell(peer, WordCame{*word_});
}

std::string BoardCore::why_parked(const Claim& claim, TimePoint now) const {
  if (!is_open(now))
    return fmt::format(
        "the board of this job ended unexpectedly and came back; it gives seats again in {}, when "
        "no earlier rank can run any more",
        describe_duration(std::chrono::ceil<std::chrono::seconds>(opens_ - now)));
  if (claim.seat) return holder_in_words(*claim.seat, holders_.at(*claim.seat).claim.host);
  return fmt::format("all {} nodes are here, {}", seats_,
                     holder_in_words(seats_ - 1, holders_.at(seats_ - 1).claim.host));
}

void BoardCore::sit(int seat, Peer peer, const Claim& claim, TimePoint now) {
  free_.erase(seat);
  const auto place = by_hearing_.insert(by_hearing_.end(), seat);
  holders_[seat] = Holder{claim, peer, {}, now, place};
  seat_of_incarnation_[claim.incarnation] = seat;
  seat_of_peer_[peer] = seat;
  if (seat == 0) ++generation_;
  greet(seat);
  if (seat != 0) show(seat);
}

/// Tells the holder of a seat all that counts for it.
void BoardCore::greet(int seat) {
  const Peer peer = holders_.at(seat).peer;
  tell(peer, Seated{{seat, generation_}});
  if (word_ && (seat == 0 || word_counts())) tell(peer, WordCame{*word_});
  if (seat != 0 && leader() == nullptr) tell(peer, SeatVacated{0});
  if (seat != 0) return;
  for (const auto& [other, holder] : holders_)
    if (other != 0) show(other);
}

/// An earlier leader's word is for nobody who comes now.
bool BoardCore::word_counts() const {
  return word_ && word_->generation == generation_ && holders_.contains(0);
}

void BoardCore::vacate(int seat) {
  const Holder& holder = holders_.at(seat);
  seat_of_peer_.erase(holder.peer);
  seat_of_incarnation_.erase(holder.claim.incarnation);
  by_hearing_.erase(holder.in_order);
  holders_.erase(seat);
  free_.insert(seat);
  if (seat == 0) return tell_all(SeatVacated{0});
  if (const Holder* to = leader()) tell(to->peer, SeatVacated{seat});
}

/// Waiting agents take the free seats, in the order in which they came.
void BoardCore::seat_waiting(TimePoint now) {
  for (auto one = waiting_.begin(); one != waiting_.end() && !free_.empty();) {
    const auto seat = free_seat_for(one->claim);
    if (!seat) {
      ++one;
      continue;
    }
    const Waiting waiting = *one;
    one = stop_waiting(one);
    sit(*seat, waiting.peer, waiting.claim, now);
  }
}

std::list<BoardCore::Waiting>::iterator BoardCore::stop_waiting(std::list<Waiting>::iterator one) {
  waiting_of_peer_.erase(one->peer);
  waiting_of_incarnation_.erase(one->claim.incarnation);
  return waiting_.erase(one);
}

void BoardCore::unseat(int seat, const std::string& why) {
  const Peer peer = holders_.at(seat).peer;
  vacate(seat);
  tell(peer, Unseated{why});
}

/// Frees the seats whose holders have been silent for too long: their ranks are gone by now.
void BoardCore::end_silent(TimePoint now) {
  const auto until = now - terms_.lease - terms_.kill_margin;
  bool freed = false;
  while (!by_hearing_.empty() && holders_.at(by_hearing_.front()).heard <= until) {
    unseat(by_hearing_.front(), fmt::format("the board has heard nothing from this node for {}",
                                            describe_duration(terms_.lease + terms_.kill_margin)));
    freed = true;
  }
  if (freed && is_open(now)) seat_waiting(now);
}

void BoardCore::hear(int seat, TimePoint now) {
  Holder& holder = holders_.at(seat);
  holder.heard = now;
  by_hearing_.splice(by_hearing_.end(), by_hearing_, holder.in_order);
}

// Telling.

void BoardCore::show(int seat) {
  const Holder* to = leader();
  if (seat == 0 || to == nullptr) return;
  const Holder& holder = holders_.at(seat);
  tell(to->peer, StandingCame{{seat, holder.claim.incarnation, holder.claim.host, holder.text}});
}

void BoardCore::tell(Peer to, wire::FromBoard message) {
  if (to != 0) told_.push_back({to, std::move(message)});
}

void BoardCore::tell_all(const wire::FromBoard& message) {
  for (const auto& [seat, holder] : holders_) tell(holder.peer, message);
  for (const Waiting& one : waiting_) tell(one.peer, message);
}

std::optional<int> BoardCore::seat_of(Peer peer) const {
  const auto seat = seat_of_peer_.find(peer);
  return seat == seat_of_peer_.end() ? std::nullopt : std::optional(seat->second);
}

BoardCore::Holder* BoardCore::leader() {
  const auto holder = holders_.find(0);
  return holder == holders_.end() ? nullptr : &holder->second;
}

}  // namespace safelaunch::agree
