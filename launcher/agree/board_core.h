#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <set>
#include <unordered_map>

#include "safelaunch/agree/board.h"
#include "safelaunch/base/time.h"
#include "wire.h"

namespace safelaunch::agree {

/// A board that ran before this one, for the same job, and did not end in order.
struct EarlierLife {
  /// Until then leases that it has confirmed may last, and their margins: lease + kill_margin after
  /// its last sign of life. No seat is given away before.
  TimePoint until{};
  std::uint64_t generation = 0;  ///< its last one; those of this board are greater
};

/// A board as a machine: it takes what the agents say, and answers with what they are to be told.
/// An agent speaks over a connection, a `Peer`, which may break and be replaced by another one: the
/// agent then claims again with the same incarnation. Pure: the time is handed in. A message of one
/// agent costs the same however many agents there are; a word costs one message an agent.
class BoardCore {
 public:
  using Peer = std::uint64_t;  ///< 0 is none
  struct Told {
    Peer to = 0;
    wire::FromBoard message;
  };

  BoardCore(int seats, const Terms& terms, const EarlierLife& earlier = {});

  [[nodiscard]] std::vector<Told> on(Peer from, const wire::FromAgent& message, TimePoint now);
  /// The connection is broken. The holder of a seat keeps it until its lease is over.
  void gone(Peer peer);
  /// The deadline has come.
  [[nodiscard]] std::vector<Told> time_passed(TimePoint now);
  /// When time_passed() is to come; nullopt while nobody is here.
  [[nodiscard]] std::optional<TimePoint> deadline() const;

  /// The generation of the present leader, or of the last one.
  [[nodiscard]] std::uint64_t generation() const { return generation_; }
  /// Whether seats are given away; not while leases of an earlier life may last.
  [[nodiscard]] bool is_open(TimePoint now) const { return now >= opens_; }
  [[nodiscard]] bool anybody_seated() const { return !by_hearing_.empty(); }

 private:
  struct Holder {
    Claim claim;
    Peer peer = 0;
    std::string text;
    TimePoint heard{};
    std::list<int>::iterator in_order;  ///< its place in by_hearing_
  };
  struct Waiting {
    Peer peer = 0;
    Claim claim;
  };

  void take(Peer from, const wire::ClaimsSeat& message, TimePoint now);
  void take(Peer from, const wire::Renews& message, TimePoint now);
  void take(Peer from, const wire::Publishes& message, TimePoint now);
  void take(Peer from, const wire::Says& message, TimePoint now);
  void take(Peer from, const wire::Leaves& message, TimePoint now);

  [[nodiscard]] std::optional<std::string> difference(const wire::ClaimsSeat& message) const;
  [[nodiscard]] std::optional<int> free_seat_for(const Claim& claim) const;
  [[nodiscard]] std::string why_parked(const Claim& claim, TimePoint now) const;
  [[nodiscard]] bool word_counts() const;
  void place(Peer peer, const Claim& claim, TimePoint now);
  void sit(int seat, Peer peer, const Claim& claim, TimePoint now);
  void greet(int seat);
  void vacate(int seat);
  void seat_waiting(TimePoint now);
  std::list<Waiting>::iterator stop_waiting(std::list<Waiting>::iterator one);
  void unseat(int seat, const std::string& why);
  void end_silent(TimePoint now);
  void hear(int seat, TimePoint now);
  void show(int seat);
  void tell(Peer to, wire::FromBoard message);
  void tell_all(const wire::FromBoard& message);
  [[nodiscard]] std::optional<int> seat_of(Peer peer) const;
  [[nodiscard]] Holder* leader();

  const int seats_;
  const Terms terms_;
  const TimePoint opens_;  ///< no seat is given away before
  std::uint64_t generation_;
  std::optional<Word> word_;
  std::map<int, Holder> holders_;
  std::set<int> free_;
  std::unordered_map<std::string, int> seat_of_incarnation_;
  std::unordered_map<Peer, int> seat_of_peer_;
  std::list<int> by_hearing_;   ///< the seats with a holder; the one heard longest ago first
  std::list<Waiting> waiting_;  ///< the agents without a seat, in the order of their claims
  std::unordered_map<Peer, std::list<Waiting>::iterator> waiting_of_peer_;
  std::unordered_map<std::string, std::list<Waiting>::iterator> waiting_of_incarnation_;
  std::vector<Told> told_;
};

}  // namespace safelaunch::agree
