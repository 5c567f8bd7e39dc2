#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/event.h"

/// The slow rank of a job that trains: the one for which the others wait at each collective.
namespace safelaunch::watch {

/// A rank has called a collective.
struct Arrival {
  std::string group;
  std::int64_t number = 0;         ///< in its group, the same on all ranks
  std::chrono::microseconds at{};  ///< since 1970, by the clock of the rank's host
};

/// What one rank tells of its last collectives.
struct Arrivals {
  std::vector<Arrival> came;  ///< the newest last
  /// Where it was at some looks, as `summarize` has it, and how often.
  std::map<std::string, int> places;
};

/// A rank that comes last, and for which the others wait.
struct Straggler {
  Rank rank{};
  int last = 0;                        ///< to so many collectives it came last
  int of = 0;                          ///< of these
  std::chrono::microseconds behind{};  ///< the median of its time behind the last but one
  int waited_percent = 0;              ///< of the time the others waited for it
  std::string where{};                 ///< where it was most often; empty: not known
  int seen = 0;                        ///< as often it was seen there
  int looks = 0;                       ///< of these
};

/// Compares collectives to which all ranks came that have told of their group. Nobody is named
/// unless it came last to three of four collectives, of 16 at least, and the others waited for it
/// for a twentieth of the time and a millisecond each. All ranks are on one host: clocks of several
/// hosts differ by more than that.
[[nodiscard]] std::optional<Straggler> find_straggler(const std::map<Rank, Arrivals>& ranks);

}  // namespace safelaunch::watch
