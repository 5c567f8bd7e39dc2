#pragma once

#include <map>
#include <vector>

#include "safelaunch/base/event.h"
#include "safelaunch/base/time.h"

namespace safelaunch::run {

/// Decides when ranks that stand still with the CUDA driver loaded are a reason to ask the driver,
/// and when its silence counts. A driver that answers lets the ranks rest, and is asked again only
/// after twice the time. One silence alone may be a driver that wakes its GPUs, or a host that was
/// suspended: the second counts, where the same ranks still stand. Pure.
class DriverDoubt {
 public:
  /// So long ranks may stand still before the driver is asked.
  explicit DriverDoubt(Duration still) : still_(still), patience_(still) {}

  void stands_still(Rank rank, TimePoint now) { still_since_.try_emplace(rank, now); }
  /// It is at work, has ended or has no driver.
  void moves(Rank rank) { still_since_.erase(rank); }

  /// The ranks for which the driver is to be asked now; empty: it is not.
  [[nodiscard]] std::vector<Rank> suspects(TimePoint now) const;
  /// The ranks have rested for so long that they need no close look.
  [[nodiscard]] bool looks_seldom() const { return patience_ > 4 * still_; }

  void answered();
  /// It did not answer in time when it was asked for these; whether it is taken for silent.
  [[nodiscard]] bool silent(const std::vector<Rank>& asked_for, TimePoint now);

 private:
  Duration still_;
  Duration patience_;
  int silences_ = 0;  // in a row
  std::map<Rank, TimePoint> still_since_;
};

}  // namespace safelaunch::run
