#pragma once

#include <map>
#include <set>

#include "safelaunch/report/event_log.h"
#include "safelaunch/watch/hook_message.h"

namespace safelaunch::ranks {

/// Records which rank of this node the others wait for at each collective, once all have answered
/// when they came. It asks nothing itself: the question goes with that for the counters.
class StragglerWatch {
 public:
  explicit StragglerWatch(report::EventLog& log) : log_(log) {}

  /// These ranks are asked, under this number.
  void begin(int question, std::set<Rank> asked);
  void answered(Rank rank, const watch::ArrivalsAnswer& answer);

 private:
  void compare();

  report::EventLog& log_;
  int question_ = 0;
  std::set<Rank> asked_;  // and have not answered
  std::map<Rank, watch::Arrivals> arrivals_;
  std::optional<watch::Straggler> told_;
  TimePoint told_at_{};
};

}  // namespace safelaunch::ranks
