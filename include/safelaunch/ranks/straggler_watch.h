#pragma once

#include <map>
#include <set>

#include "safelaunch/report/event_log.h"
#include "safelaunch/watch/hook_message.h"

namespace safelaunch::ranks {

/// Records which rank of this node the others wait for at each collective, once all have answered
/// when they came. It asks nothing itself: the question goes with that for the counters, where
/// there is something new to tell.
class StragglerWatch {
 public:
  explicit StragglerWatch(report::EventLog& log) : log_(log) {}

  /// A rank has finished so many collectives.
  void counted(Rank rank, std::int64_t collectives);
  /// Whether any has finished more since the last question: a job that stands is left alone.
  [[nodiscard]] bool wants_to_ask() const { return moved_; }
  /// These ranks are asked, under this number.
  void begin(int question, std::set<Rank> asked);
  void answered(Rank rank, const watch::ArrivalsAnswer& answer);

 private:
  void compare();

  report::EventLog& log_;
  std::map<Rank, std::int64_t> finished_;
  bool moved_ = false;
  int question_ = 0;
  std::set<Rank> asked_;  // and have not answered
  std::map<Rank, watch::Arrivals> arrivals_;
  int told_ = report::record::Straggler{}.rank;
  TimePoint told_at_{};
};

}  // namespace safelaunch::ranks
