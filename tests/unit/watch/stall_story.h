#pragma once

#include <functional>

#include "safelaunch/watch/stall.h"

namespace safelaunch::watch {

inline constexpr TimePoint kStallStart{std::chrono::hours(1)};

/// Ticks whenever the machine asks to, up to `end`; the ranks answer with `counters`.
inline std::optional<StallReport> run(Stall& stall, TimePoint end,
                                      const std::map<Rank, Collectives>& counters = {}) {
  while (const auto due = stall.next_deadline()) {
    if (*due > end) break;
    const auto action = stall.tick(*due);
    if (!action) continue;
    if (const auto* report = std::get_if<StallReport>(&*action)) return *report;
    for (const auto& [rank, reached] : counters) stall.on_counters(rank, reached, *due);
  }
  return std::nullopt;
}

/// Whether two ranks that answer so once a minute are told to stand still within two hours.
inline bool is_told(const std::function<void(Stall&, TimePoint)>& answer) {
  Stall stall({}, kStallStart, 2);
  for (TimePoint now = kStallStart; now < kStallStart + std::chrono::hours(2);
       now += std::chrono::minutes(1)) {
    const auto action = stall.tick(now);
    const auto* report = action ? std::get_if<StallReport>(&*action) : nullptr;
    if (report != nullptr && report->working.empty()) return true;
    answer(stall, now);
  }
  return false;
}

}  // namespace safelaunch::watch
