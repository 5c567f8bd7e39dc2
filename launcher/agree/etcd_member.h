#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "etcd_json.h"
#include "records.h"
#include "safelaunch/agree/board.h"
#include "wishes.h"

namespace safelaunch::agree {

/// Decides what an agent asks of etcd, and what the answers mean. Pure: answers and the time are
/// handed in. Under "/safelaunch/JOB/" the server has
///
///     board     the board's record; of a lease of an hour, which the leader keeps alive
///     word      the leader's newest one, of the same lease
///     seat/N    the holder, of its lease, which is longer than lease + kill_margin
///     news/N    what it has published, of the same lease
///
/// Each value is sealed. As holder of a seat an agent acts by transactions, each on the condition
/// that the seat's key is still the one that it created: so etcd itself refuses an agent that comes
/// back late. The leader's generation is the revision that created the key of seat 0.
///
///     looking ─→ granting ─→ claiming ─→ sitting ─→ seated ─ keep, watch, publish, say ─┐
///        ↑  └─ adopts its own seat ────────↑           ↑───────────────────────────────┘
///        └──── the claim was not taken ────┘
class EtcdMember {
 public:
  explicit EtcdMember(const BoardConfig& config);

  struct Request {
    std::string_view path;
    std::string body;
  };
  /// The next question, once nothing is being asked; nullopt: there is none before wake().
  [[nodiscard]] std::optional<Request> next(const Wishes& wishes, TimePoint now);
  void answered(const Result<std::string>& body, TimePoint now);
  /// The news since the last call.
  [[nodiscard]] Outcome told() { return std::exchange(heard_, {}); }
  /// When next() is to come without any change of the wishes.
  [[nodiscard]] TimePoint wake() const { return wake_; }
  /// How long an answer is waited for.
  [[nodiscard]] Duration patience() const;

 private:
  enum class Phase { idle, looking, granting_board, granting, claiming, sitting, seated, left };
  enum class Asked {
    nothing,
    look,
    lives,
    grant,
    claim,
    keep,
    keep_board,
    watch,
    publish,
    say,
    revoke,
    clean
  };
  struct Holder {
    std::uint64_t created = 0;
    std::uint64_t lease = 0;
    std::string incarnation{};
    std::string host{};
    std::uint64_t told = 0;  ///< at the leader: the revision of the news that it was told last
  };
  using Holders = std::map<int, Holder>;

  static constexpr std::string_view kSeat = "seat/";
  static constexpr std::string_view kNews = "news/";

  /// Longer than lease + kill_margin: no seat is free while ranks of its holder may live. A second
  /// more, because for about so long a server that has lost its majority may keep a lease alive
  /// without the others' knowledge.
  [[nodiscard]] static std::uint64_t lease_seconds(const Terms& terms);

  void serve(const Wishes& wishes, TimePoint now);
  [[nodiscard]] Request ask(Asked what, std::string_view path, std::string body);
  [[nodiscard]] Request ask(Asked what, const etcd::Txn& txn);
  [[nodiscard]] std::optional<Request> next_as_holder(const Wishes& wishes, TimePoint now);
  [[nodiscard]] std::optional<Request> next_to_leave();
  [[nodiscard]] Request claim_request();
  [[nodiscard]] Request watch_request();
  [[nodiscard]] Request publish_request(const Wishes& wishes);
  [[nodiscard]] std::optional<Request> say_request(const Word& word);
  [[nodiscard]] Request look_request();

  Result<void> take_answer(const std::string& body, TimePoint now);
  [[nodiscard]] std::size_t ranges_due(bool succeeded) const;
  Result<void> take_lease_answer(const std::string& body, TimePoint now);
  void fail(const std::string& why, TimePoint now);
  void take_look(const etcd::TxnAnswer& answer, TimePoint now);
  [[nodiscard]] bool know_board(const etcd::Range& board, bool held);
  void choose(const Holders& holders, TimePoint now);
  void claim_seat(int seat, TimePoint now);
  void wait_out_other_terms(const Holders& holders, TimePoint now);
  void take_claim(const etcd::TxnAnswer& answer, TimePoint now);
  void take_watch(const etcd::TxnAnswer& answer, TimePoint now);
  void begin_to_sit(std::uint64_t created);
  void hear_word(const etcd::Range& word, std::uint64_t present);
  void hear_of_leader(std::uint64_t present);
  void hear_members(const etcd::Range& seats, const etcd::Range& news);
  void show_member(int seat, std::string text);
  void take_saying(const etcd::TxnAnswer& answer);
  void not_taken(const Word& word);

  [[nodiscard]] std::optional<int> seat_of(const etcd::Key& key, std::string_view kind) const;
  [[nodiscard]] std::optional<NewsRecord> record_in(const etcd::Key& key) const;
  [[nodiscard]] Holders holders_in(const etcd::Range& seats) const;
  [[nodiscard]] std::optional<Word> word_in(const etcd::Range& word) const;
  [[nodiscard]] std::string sealed_for(std::string_view key, std::string_view bytes) const;
  [[nodiscard]] std::string seat_key(int seat) const;
  [[nodiscard]] std::string news_key(int seat) const;
  [[nodiscard]] Duration pace() const;
  [[nodiscard]] bool leads() const { return phase_ == Phase::seated && seat_ == 0; }
  void park(const std::string& why, TimePoint now);
  void unseat(const std::string& why);
  void refuse(Errc code, const std::string& why);

  const BoardConfig config_;
  const std::string where_;  ///< the server's place, for messages to people

  Phase phase_ = Phase::idle;
  Asked asked_ = Asked::nothing;
  TimePoint wake_{};
  Outcome heard_;
  int failures_ = 0;  ///< failures in a row

  // The claim.
  std::uint64_t claims_ = 0;
  Claim claim_{};
  std::string prefix_;
  std::string parked_;
  bool gives_back_ = false;  ///< the lease is to be revoked
  bool cleans_ = false;      ///< then, what is left of a board without holders is to be removed

  // The board.
  std::uint64_t board_changed_ = 0;  ///< revision of its record; 0: there is none
  BoardRecord record_;
  std::string key_;
  std::uint64_t board_lease_ = 0;
  TimePoint board_kept_{};
  std::optional<TimePoint> differs_since_;
  std::uint64_t doubtful_lease_ = 0;  ///< the lease of a holder of a board with other terms
  bool begins_ = false;               ///< nobody holds a seat: the claim begins a board

  // The seat.
  int seat_ = 0;
  std::uint64_t created_ = 0;  ///< the revision that created the seat's key
  std::uint64_t lease_ = 0;
  TimePoint granted_{};
  TimePoint sent_{};               ///< when the keep-alive was sent
  std::optional<TimePoint> kept_;  ///< sent_, where the next watch confirms it
  TimePoint watched_{};
  std::uint64_t publishing_ = 0;
  std::uint64_t published_ = 0;  ///< version of the wishes' text
  std::optional<Word> saying_;

  // The news so far.
  std::uint64_t seen_ = 0;    ///< the revision up to which changes were seen
  std::uint64_t leader_ = 0;  ///< generation of the present leader; 0: none
  std::uint64_t word_changed_ = 0;
  Word told_{};
  Holders members_;
  bool shows_all_ = true;  ///< the next watch asks for all members
};

}  // namespace safelaunch::agree
