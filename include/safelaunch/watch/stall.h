#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <variant>

#include "safelaunch/base/event.h"
#include "safelaunch/base/time.h"

namespace safelaunch::watch {

/// How many collectives a rank has called, and how many of them are finished. Compared in this
/// order: a rank that waits for another has called one more, and finished as many.
struct Collectives {
  std::int64_t begun = 0;
  std::int64_t finished = 0;
  auto operator<=>(const Collectives&) const = default;
};

/// The training has stood still for `silent_for`: nothing was written, no collective was finished.
struct StallReport {
  Duration silent_for{};
  /// Ranks that have come less far than others, the furthest behind first; empty where the counters
  /// are equal, or where no hook answers.
  std::vector<Rank> lagging;
  std::map<Rank, Collectives> counters;  ///< the counters of each rank that answered
};

/// "no output and no collective finished for 10min; rank 3 is behind (41 of 42 collectives begun)".
[[nodiscard]] std::string describe(const StallReport& report);

/// Asks for on_counters() of every rank.
struct AskCounters {};

using StallAction = std::variant<AskCounters, StallReport>;

/// Watches a job in training (`--stall-timeout`). Pure: times are handed in. It only reports: each
/// standstill once, and another one after the job has moved again.
///
/// Output is the cheap sign of life. Where it stays away for half the time the ranks' counters are
/// asked for, and again at its end: a silent job that finishes collectives is at work.
class Stall {
 public:
  /// A timeout of 0 never reports.
  Stall(Duration timeout, TimePoint now) : timeout_(timeout), moved_at_(now) {}

  void on_output(TimePoint now) { moved(now); }
  void on_counters(Rank rank, Collectives counters, TimePoint now);
  [[nodiscard]] std::optional<StallAction> tick(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

 private:
  enum class Step { silent, asked, asked_again, reported };
  void moved(TimePoint now);
  [[nodiscard]] StallReport report(TimePoint now) const;

  Duration timeout_;
  TimePoint moved_at_;
  TimePoint looked_at_{};
  Step step_ = Step::silent;
  std::map<Rank, Collectives> counters_;
};

}  // namespace safelaunch::watch
