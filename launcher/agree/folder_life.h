#pragma once

#include <cstdint>
#include <map>

#include "board_folder.h"
#include "records.h"
#include "safelaunch/base/result.h"

/// How a board in a shared folder begins and ends. In its folder stand
///
///     board                     its record (records.h), sealed
///     open | closed.ID | over   the gate; one of them
///     seats/seat.…              one file a seat (SeatName)
///     words/lead.… word.…       the leader's mark, gone.… where it is gone; its words
///     news/news.…               what each holder has published
///
/// A board begins whole: its folder is made under another name, and renamed. It ends in two steps,
/// so that nobody takes a seat of a board that somebody else removes, however long either of them
/// is stopped in between: an agent that takes a seat looks at the gate *afterwards*, and gives the
/// seat back if it is not open; an agent that wants to end the board closes the gate first, looks
/// at the seats *afterwards*, and opens it again if one is held. Only a closed gate, under the very
/// name that it was closed with, becomes `over`; then everybody may remove what is left.
namespace safelaunch::agree {

// The names of the files of a board in a shared folder. State that changes often stands in the
// names, because every file system does rename(2) in one step, and of two agents that rename one
// file only one succeeds.

/// The one file of a seat. Only its holder and those who take it away rename it.
struct SeatName {
  int seat = 0;
  std::uint64_t turn = 0;     ///< grows with each holder
  std::string holder{};       ///< its incarnation; empty: the seat is free
  std::uint64_t beat = 0;     ///< grows with each sign of life
  std::uint64_t version = 0;  ///< the version of the holder's news
  bool operator==(const SeatName&) const = default;
};

/// The mark of a leader: words of an earlier generation count no longer. Its beat follows that of
/// the leader's seat. So an agent that looks at the words alone sees whether there is a leader, and
/// no cache of that folder grows old.
struct LeadName {
  std::uint64_t generation = 0;
  std::uint64_t beat = 0;
  bool is_gone = false;  ///< nobody has the seat any more
  bool operator==(const LeadName&) const = default;
};

struct WordName {
  std::uint64_t generation = 0;
  std::uint64_t number = 0;
  auto operator<=>(const WordName&) const = default;
};

[[nodiscard]] std::string to_name(std::string_view key, const SeatName& seat);
[[nodiscard]] std::string to_name(std::string_view key, const LeadName& lead);
[[nodiscard]] std::string to_name(const WordName& word);
/// The name of the file with a holder's news.
[[nodiscard]] std::string news_name(const SeatName& seat);

/// Names that were not made with this key read as nothing.
[[nodiscard]] std::optional<SeatName> seat_name(std::string_view key, std::string_view name);
[[nodiscard]] std::optional<LeadName> lead_name(std::string_view key, std::string_view name);
/// A word's MAC is in its content.
[[nodiscard]] std::optional<WordName> word_name(std::string_view name);

/// The files of the seats, by seat.
struct SeatFiles {
  std::map<int, SeatName> seats;
  /// Whether each seat has been seen. A file that is renamed meanwhile may be left out.
  bool all = false;

  [[nodiscard]] bool all_free() const;
  [[nodiscard]] bool any_held() const;
};

/// The leaders' marks and the words that count for a reader.
struct WordFiles {
  std::optional<LeadName> lead{};  ///< the newest mark of a leader
  std::vector<LeadName> former_leads{};
  /// The words in their order, of no later generation than the mark.
  std::vector<WordName> words{};

  /// The newest word of the newest leader, also of one that is gone.
  [[nodiscard]] std::optional<WordName> newest() const;
  /// The generation of the present leader; 0: there is none.
  [[nodiscard]] std::uint64_t present() const;
};

/// The state of the path of a board.
enum class BoardState {
  nothing,  ///< no folder, or an empty one
  open,
  closed,   ///< somebody looks whether it can be ended, or has died in doing so
  over,     ///< its rest can be removed
  foreign,  ///< a folder with other things in it
};

[[nodiscard]] Result<SeatFiles> seat_files(const BoardFolder& folder, const std::string& key,
                                           int seats);

[[nodiscard]] Result<WordFiles> word_files(const BoardFolder& folder, const std::string& key);

/// Makes a board at `path`, unless there is one already.
[[nodiscard]] Result<void> make_board(const std::string& path, std::string_view token,
                                      const BoardRecord& record);

[[nodiscard]] Result<BoardState> state_of(const BoardFolder& folder);

/// The board's record; nullopt: it is not of this token.
[[nodiscard]] Result<std::optional<BoardRecord>> read_record(const BoardFolder& folder,
                                                             std::string_view token);
/// The key of all other files of a board.
[[nodiscard]] std::string key_of(const BoardRecord& record, std::string_view token);

/// Ends a board that nobody holds a seat of, and removes it; else leaves it open. The same call
/// goes on where another agent stopped.
[[nodiscard]] Result<void> end_board(const BoardFolder& folder, const std::string& key, int seats);

/// Removes what is left of a board that is over.
void remove_board(const BoardFolder& folder);

}  // namespace safelaunch::agree
