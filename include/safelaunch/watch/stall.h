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

/// The training has stood still for `silent_for`: no collective was finished, and, where not all
/// ranks could be asked, nothing was written.
struct StallReport {
  Duration silent_for{};
  /// Ranks that have come less far than others, the furthest behind first; empty where the counters
  /// are equal, or where no hook answers.
  std::vector<Rank> lagging;
  std::map<Rank, Collectives> counters;  ///< the counters of each rank that answered
  bool output_counts = true;             ///< not all ranks count their collectives
};

/// "no output and no collective finished for 10min; rank 3 is behind (41 of 42 collectives begun)".
[[nodiscard]] std::string describe(const StallReport& report);

/// Asks for on_counters() of every rank.
struct AskCounters {};

using StallAction = std::variant<AskCounters, StallReport>;

/// Watches a job in training (`--stall-timeout`). Pure: times are handed in. It only reports: each
/// standstill once, and another one after the job has moved again.
///
/// The counters of all ranks are asked for after half the time, and again at its end. Where each
/// rank counts, they alone decide: a thread that prints "alive" is no training. Else output is a
/// sign of life too. A rank that works outside of a collective (an evaluation, a checkpoint) is
/// training.
class Stall {
 public:
  /// A timeout of 0 never reports. `ranks`: how many there are.
  Stall(Duration timeout, TimePoint now, int ranks = 0)
      : timeout_(timeout), ranks_(ranks), moved_at_(now) {}

  void on_output(TimePoint now);
  void on_counters(Rank rank, Collectives counters, TimePoint now);
  void on_activity(Rank rank, Activity activity, TimePoint now);
  [[nodiscard]] std::optional<StallAction> tick(TimePoint now);
  [[nodiscard]] std::optional<TimePoint> next_deadline() const;

 private:
  enum class Step { silent, asked, asked_again, reported };
  void moved(TimePoint now);
  [[nodiscard]] bool output_counts() const;
  [[nodiscard]] StallReport report(TimePoint now) const;

  Duration timeout_;
  int ranks_;
  TimePoint moved_at_;
  bool asked_ = false;  // once: from then on it is known who counts
  TimePoint looked_at_{};
  Step step_ = Step::silent;
  std::map<Rank, Collectives> counters_;
};

}  // namespace safelaunch::watch
