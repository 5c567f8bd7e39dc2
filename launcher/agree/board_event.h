#pragma once

#include <variant>

#include "safelaunch/agree/agent_machine.h"
#include "safelaunch/agree/board.h"

namespace safelaunch::agree {

/// What a board tells its listener, as a value.
using BoardEvent = std::variant<Seated, Parked, Confirmed, WordCame, StandingCame, SeatVacated,
                                Unseated, Unreachable, Refused>;

void tell(Board::Listener& listener, const BoardEvent& event);

}  // namespace safelaunch::agree
