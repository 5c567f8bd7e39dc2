#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "safelaunch/base/environment.h"
#include "safelaunch/clean/stale.h"
#include "safelaunch/clean/stale_file.h"
#include "safelaunch/host/activity.h"
#include "safelaunch/watch/rank_state.h"
#include "safelaunch/watch/standstill.h"

namespace safelaunch {

/// Looks, rarely, whether all ranks stand still although none waits for another. Ends with the
/// first collective.
class StandstillWatch {
 public:
  using RanksNow = std::function<const std::map<Rank, RankState>&()>;
  /// For how long, and what each rank does in the kernel.
  using OnStill = std::function<void(Duration still_for, std::map<Rank, std::string> doings)>;

  StandstillWatch(boost::asio::io_context& io, Duration patience, OnStill on_still)
      : patience_(patience), on_still_(std::move(on_still)), timer_(io) {}

  void begin(RanksNow ranks);
  void end();

 private:
  void look_later();
  void look();
  [[nodiscard]] bool all_still(TimePoint now);

  Duration patience_;
  OnStill on_still_;
  boost::asio::steady_timer timer_;
  Procfs table_;
  RanksNow ranks_;
  std::optional<Standstill> standstill_;
  std::map<Rank, TreeSample> looks_;
  std::map<Rank, std::string> doings_;
};

/// The locks of torch's extensions that the ranks of a job may wait for.
struct WaitedLocks {
  std::string words;            ///< whose, how old, and what to do; empty: there are none
  std::vector<StaleFile> left;  ///< those that nobody holds and nobody builds: they may go
};

/// Looks for those of a job with this environment. None where only a server knows of them.
[[nodiscard]] WaitedLocks find_waited_locks(const Environment& environment, CleanPolicy policy);

}  // namespace safelaunch
