#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "board_folder.h"
#include "folder_names.h"
#include "records.h"
#include "safelaunch/base/result.h"

/// How a board in a shared folder begins and ends. In its folder stand
///
///     board                     its record (records.h), sealed
///     open | closed.ID | over   the gate; one of them
///     seats/seat.…              one file a seat (folder_names.h)
///     words/lead.… word.…       the leader's mark, gone.… where it is gone; its words
///     news/news.…               what each holder has published
///
/// A board begins whole: its folder is made under another name, and renamed. It ends in two steps,
/// so that nobody takes a seat of a board that somebody else removes, however long either of them
/// is stopped in between: whoever takes a seat looks at the gate *afterwards*, and gives the seat
/// back if it is not open; whoever wants to end the board closes the gate first, looks at the seats
/// *afterwards*, and opens it again if one is held. Only a closed gate, under the very name that it
/// was closed with, becomes `over`; then everybody may remove what is left.
namespace safelaunch::agree {

/// The files of the seats, by seat.
struct SeatFiles {
  std::map<int, SeatName> seats;
  /// Whether each seat has been seen. A file that is renamed meanwhile may be left out.
  bool all = false;

  [[nodiscard]] bool all_free() const;
  [[nodiscard]] bool any_held() const;
};

/// What is at the path of a board.
enum class BoardState {
  nothing,  ///< no folder, or an empty one
  open,
  closed,   ///< somebody looks whether it can be ended, or has died in doing so
  over,     ///< what is left of it can be removed
  foreign,  ///< a folder with other things in it
};

[[nodiscard]] Result<SeatFiles> seat_files(const BoardFolder& folder, const std::string& key,
                                           int seats);

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
