#pragma once

#include <cstdint>
#include <string>

#include "safelaunch/base/time.h"

namespace safelaunch::agree {

/// Bugs that are put in on purpose: the simulation must find each of them.
struct Bugs {
  bool no_kill_margin = false;     ///< the board frees a seat as soon as the lease is over
  bool lease_ignored = false;      ///< agents do not end their ranks with their lease
  bool nobody_waited_for = false;  ///< the leader takes every node for ready
  bool generation_stays = false;   ///< a new leader has the generation of the former one
  bool no_guardian = false;        ///< nobody kills the ranks of an agent that is stopped
  bool break_frees_seat = false;   ///< a broken connection frees the seat at once
  bool board_forgets = false;      ///< a board that comes back knows of no earlier life
};

/// One schedule, played to its end.
struct Played {
  std::string violation;  ///< the rule that was broken; empty: all held
  Duration agreed{};      ///< from the healing of the last fault until all agreed
  int events = 0;
  int attempts = 0;  ///< the attempts that some node started
  int leaders = 0;
  std::string story;  ///< one line an event, where it was asked for
};

enum class Tell { nothing, all };

/// Plays a schedule that follows from its seed alone: some agents, their board, and what fails.
[[nodiscard]] Played play(std::uint64_t seed, const Bugs& bugs = {}, Tell tell = Tell::nothing);

}  // namespace safelaunch::agree
