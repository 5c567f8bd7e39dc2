#pragma once

#include <optional>

#include "safelaunch/base/time.h"

struct timex;

namespace safelaunch::host {

/// The kernel's word on the clock of this host. The clock of a guest whose host keeps the time, and
/// one that chrony keeps without `rtcsync`, look like one that nobody keeps.
struct ClockState {
  bool kept = false;  ///< a time service (NTP, PTP) keeps it
  Duration error{};   ///< by how much it may be off, where it is kept
  bool operator==(const ClockState&) const = default;
};

/// The meaning of adjtimex(2)'s answer, the returned state with it.
[[nodiscard]] ClockState clock_state(int state, const timex& answer);

/// Asks the kernel, and changes nothing; nullopt where it does not tell.
[[nodiscard]] std::optional<ClockState> read_clock_state();

}  // namespace safelaunch::host
