#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "board_event.h"
#include "safelaunch/agree/board.h"

namespace safelaunch::agree {

/// What the calls of a Board have asked for so far, as whoever performs it sees it.
struct Wishes {
  std::optional<Claim> claim{};
  std::uint64_t claims = 0;  ///< calls of claim(): after unseated() only a new one counts
  std::shared_ptr<const std::string> text = std::make_shared<const std::string>();
  std::uint64_t version = 0;  ///< of `text`
  std::deque<Word> words{};   ///< that the board has not taken yet
  bool leaves = false;
};

/// What has become of them.
struct Outcome {
  std::vector<BoardEvent> events{};
  std::optional<Word> taken{};  ///< the last of the wanted words that the board has
  bool left = false;
};

/// What the calls and events of a board do to the wishes.
void take_note(Wishes& wishes, const Outcome& outcome);

}  // namespace safelaunch::agree
