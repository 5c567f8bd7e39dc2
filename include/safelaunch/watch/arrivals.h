#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

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

}  // namespace safelaunch::watch
