#pragma once

#include <functional>
#include <map>

#include "safelaunch/base/alarm.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/watch/activity_sampler.h"
#include "safelaunch/watch/rank_state.h"
#include "safelaunch/watch/standstill.h"

namespace safelaunch::ranks {

struct AllStandStill;

/// Looks, rarely, whether all ranks stand still although none waits for another, and no process of
/// the job that may work for them does anything either. Ends with the first collective.
class StandstillWatch {
 public:
  StandstillWatch(boost::asio::io_context& io, const watch::StandstillLimits& limits,
                  const std::map<Rank, watch::RankState>& ranks,
                  std::function<void(const AllStandStill&)> on_standstill)
      : limits_(limits), ranks_(ranks), on_standstill_(std::move(on_standstill)), timer_(io) {}

  void begin();
  void end();

 private:
  void look_later();
  void look();
  [[nodiscard]] bool all_still(TimePoint now);
  [[nodiscard]] bool others_work(TimePoint now);

  watch::StandstillLimits limits_;
  const std::map<Rank, watch::RankState>& ranks_;
  std::function<void(const AllStandStill&)> on_standstill_;
  Alarm timer_;
  host::Procfs table_;
  std::optional<watch::Standstill> standstill_;
  std::map<Rank, host::TreeSample> looks_;
  watch::ActivitySampler others_{table_};
  std::map<Rank, std::string> doings_;
};

}  // namespace safelaunch::ranks
