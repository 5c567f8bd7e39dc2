#pragma once

#include <cstdint>
#include <map>

#include "board_folder.h"
#include "folder_life.h"
#include "safelaunch/agree/board.h"
#include "silence.h"
#include "wishes.h"

namespace safelaunch::agree {

/// One agent at a board in a shared folder. It blocks for as long as the file system does, so it
/// lives on a thread of its own; its owner calls round() again and again.
///
/// A seat is one file. Its name holds the holder and a count of its beats, and every change is a
/// rename of exactly the name that was seen last: the holder's next beat, the claim of a free seat,
/// the taking of a seat whose holder has been silent. So a holder that comes back and another agent
/// that takes its seat cannot both succeed, and a beat that succeeded confirms the holder.
class FolderMember {
 public:
  FolderMember(std::string folder, Terms terms, std::string token);

  [[nodiscard]] Outcome round(const Wishes& wishes);

  /// The time from the end of a round to the next one.
  [[nodiscard]] Duration pace() const;

 private:
  Result<void> visit(const Wishes& wishes);

  // To the board, from nothing.
  void serve(const Wishes& wishes);
  Result<void> enter();
  [[nodiscard]] Result<void> prepare_folder();
  [[nodiscard]] Result<void> judge_place();
  void distrusted(const std::string& path, const std::string& why);
  [[nodiscard]] Result<void> make() const;
  Result<void> know_board();

  // Without a seat.
  Result<void> seek(const Wishes& wishes);
  Result<void> wait_out_other_terms(const SeatFiles& files);
  Result<void> take(const SeatName& seen, const Wishes& wishes);
  Result<void> sit(const SeatName& seat);
  Result<std::optional<Word>> take_lead(const SeatName& seat);
  [[nodiscard]] std::optional<std::string> text_of(const WordName& word) const;
  Result<void> park(const SeatFiles& files);

  // With one.
  Result<void> keep(const Wishes& wishes);
  Result<void> beat(const Wishes& wishes, bool news);
  Result<bool> is_mine(const SeatName& next);
  Result<void> renew_lead();
  Result<void> hear_leader();
  Result<void> hear_word(const WordName& word);
  Result<void> end_silent_leader(const LeadName& lead);
  Result<void> mark_gone(const LeadName& lead);
  Result<void> say(const Wishes& wishes);
  Result<bool> put(const Word& word);
  Result<void> lead();
  void show(const SeatName& seat);
  Result<void> leave();
  Result<void> give_back();
  void begin_to_hear(std::uint64_t present, const std::optional<WordName>& newest);

  [[nodiscard]] static Silence silence_under(const Terms& terms);
  Result<SeatFiles> look();
  [[nodiscard]] bool is_over(const SeatFiles& files) const;
  [[nodiscard]] bool silent(const SeatName& seat) const;
  Result<bool> free(const SeatName& seat);
  Result<void> publish(const SeatName& seat, const std::string& text);
  [[nodiscard]] std::optional<NewsRecord> news_of(const SeatName& seat) const;
  [[nodiscard]] std::string host_of(const SeatName& seat) const;
  void unseat(const std::string& why);
  void refuse(Errc code, const std::string& why);
  void forget_board();
  [[nodiscard]] bool leads() const { return held_ && held_->seat == 0; }

  const std::string folder_;
  const Terms terms_;
  const std::string token_;

  // The agent's wishes.
  std::uint64_t claims_ = 0;  ///< the claim that is served
  Claim claim_;
  bool claims_no_more_ = false;
  std::string path_;
  TimePoint sent_{};  ///< when this round began
  Outcome heard_;

  // The board, as this agent has read it.
  std::optional<BoardFolder> board_;
  BoardRecord record_;
  std::string key_;
  std::optional<std::string> difference_;
  Silence silence_;
  Silence lead_silence_;             ///< the silence of the leader's mark alone
  std::uint64_t greatest_turn_ = 0;  ///< the greatest turn of any board that was here

  // The seat that this agent holds, and how it renews it.
  std::optional<SeatName> held_;
  TimePoint renewed_{};
  std::uint64_t published_ = 0;  ///< version of the wishes' text
  LeadName lead_;
  bool hears_ = false;        ///< the agent hears words: it has a seat, or is parked
  std::uint64_t leader_ = 0;  ///< generation of the present leader; 0: none
  WordName told_;
  std::map<int, SeatName> members_;  ///< at the leader: the members as they were last told to it
  std::string parked_;
};

}  // namespace safelaunch::agree
