#pragma once

#include <cstdint>
#include <deque>
#include <memory>

#include "safelaunch/agree/board.h"

namespace safelaunch::agree {

/// The sum of what the calls of a Board have asked for so far, for the one that performs it.
struct Wishes {
  std::optional<Claim> claim{};
  std::uint64_t claims = 0;  ///< calls of claim(): after unseated() only a new one counts
  std::shared_ptr<const std::string> text = std::make_shared<const std::string>();
  std::uint64_t version = 0;  ///< the version of `text`
  std::deque<Word> words{};   ///< the words that the board has not taken yet
  bool leaves = false;
};

/// The outcome of the wishes.
struct Outcome {
  std::vector<BoardEvent> events{};
  std::optional<Word> taken{};  ///< the last of the wanted words that the board has
  bool left = false;
};

/// Changes the wishes as the calls and events of a board ask.
void take_note(Wishes& wishes, const Outcome& outcome);

}  // namespace safelaunch::agree
